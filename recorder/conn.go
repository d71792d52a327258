package recorder

import (
	"context"
	"errors"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Conn wraps one end of an in-process connection: sends is the direction in
// which this end writes. A frame is recorded before the connection writes the frame or
// Read returns it. Wrap one end of a connection, not both, or each frame is
// recorded twice. The result is a [transport.HalfCloser]; its CloseWrite fails with
// [errors.ErrUnsupported] where conn is none.
func (r *Recorder) Conn(conn transport.Conn, sends transport.Direction) transport.Conn {
	return &tappedConn{inner: conn, log: r.log, sends: sends}
}

type tappedConn struct {
	inner transport.Conn
	log   *log
	sends transport.Direction
}

func (c *tappedConn) Read(ctx context.Context) (transport.Frame, error) {
	f, err := c.inner.Read(ctx)
	if err == nil {
		c.log.recordFrame(c.sends.Reverse(), f)
	}
	return f, err
}

func (c *tappedConn) Write(ctx context.Context, frame transport.Frame) error {
	if err := frame.Sendable(); err != nil { // not sent, so not recorded
		return err
	}
	seq := c.log.recordFrame(c.sends, frame)
	start := c.log.clock.now()
	if err := c.inner.Write(ctx, frame); err != nil {
		return err
	}
	c.log.recordBlocked(c.sends, seq, c.log.clock.since(start))
	return nil
}

// CloseWrite implements [transport.HalfCloser] where the connection below does.
func (c *tappedConn) CloseWrite() error {
	half, ok := c.inner.(transport.HalfCloser)
	if !ok {
		return errors.ErrUnsupported
	}
	c.log.record(store.EOF, c.sends, store.EOFInfo{By: "sender"})
	return half.CloseWrite()
}

func (c *tappedConn) Close() error { return c.inner.Close() }
