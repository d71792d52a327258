package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"
)

// Stdio is the transport of a process over its own standard input and output.
// It can be connected once.
type Stdio struct {
	// In and Out default to os.Stdin and os.Stdout.
	In  io.ReadCloser
	Out io.WriteCloser
}

// Connect returns the process's own stdin and stdout as a Conn.
func (t Stdio) Connect(context.Context) (Conn, error) {
	in, out := t.In, t.Out
	if in == nil {
		in = os.Stdin
	}
	if out == nil {
		out = os.Stdout
	}
	return NewStreamConn(in, out), nil
}

// StreamConn is a Conn over two byte streams, one frame a line.
type StreamConn struct {
	in     io.ReadCloser
	out    io.WriteCloser
	once   sync.Once // starts the reading goroutine
	frames chan Frame
	err    error // of the reader; valid once frames is closed
	closed chan struct{}
	stop   func() error
	halved chan struct{} // closed by the first CloseWrite, which keeps the right to write
	finish func() error  // closes out
	write  chan []byte   // holds the write buffer; taking it is the right to write
}

// isGone reports whether a write failed because the far end, or this one, was
// closed.
func isGone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

// NewStreamConn reads frames from in and writes frames to out.
func NewStreamConn(in io.ReadCloser, out io.WriteCloser) *StreamConn {
	c := &StreamConn{in: in, out: out, frames: make(chan Frame), closed: make(chan struct{}), halved: make(chan struct{}), write: make(chan []byte, 1)}
	c.write <- nil
	c.finish = sync.OnceValue(c.out.Close)
	c.stop = sync.OnceValue(func() error {
		close(c.closed)
		errOut, errIn := c.finish(), c.in.Close()
		if errOut != nil {
			return errOut
		}
		return errIn
	})
	return c
}

// Read implements Conn. The goroutine that reads ahead by one frame is the one
// that nobody waits for: a read of a terminal or of an inherited pipe cannot be
// interrupted portably, so it ends with the stream or the process.
func (c *StreamConn) Read(ctx context.Context) (Frame, error) {
	if c.isClosed() {
		return Frame{}, ErrClosed
	}
	c.once.Do(func() { go c.readAll() })
	select {
	case f, ok := <-c.frames:
		if ok {
			return f, nil
		}
		if c.isClosed() { // whose doing the reader's error is
			return Frame{}, ErrClosed
		}
		return Frame{}, c.err
	case <-c.closed:
		return Frame{}, ErrClosed
	case <-ctx.Done():
		return Frame{}, ctx.Err()
	}
}

func (c *StreamConn) readAll() {
	defer close(c.frames)
	r := NewFrameReader(c.in)
	for {
		f, err := r.Read()
		if err != nil {
			c.err = err
			return
		}
		select {
		case c.frames <- f:
			runtime.Gosched() // to who got it: a read that blocks would keep this processor
		case <-c.closed:
			c.err = ErrClosed
			return
		}
	}
}

// Write implements Conn. The context is looked at before and while other
// writers are waited for, not once the operating system has the frame: half a
// frame must never be left behind. Close wakes it; a write to a blocking
// descriptor then goes on in a goroutine of its own until the reader takes it or
// goes away.
func (c *StreamConn) Write(ctx context.Context, f Frame) error {
	if err := f.Sendable(); err != nil {
		return err
	}
	if c.isClosed() {
		return ErrClosed
	}
	var buf []byte
	select {
	case <-c.closed:
		return ErrClosed
	case <-c.halved:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	case buf = <-c.write:
	}
	written := make(chan error, 1)
	go func() {
		buf = AppendFrame(buf[:0], f)
		_, err := c.out.Write(buf)
		if cap(buf) > 1<<20 {
			buf = nil
		}
		c.write <- buf
		written <- err
	}()
	select {
	case err := <-written:
		if isGone(err) {
			return fmt.Errorf("%w: %v", ErrClosed, err)
		}
		return err
	case <-c.closed:
		return ErrClosed
	}
}

func (c *StreamConn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// CloseWrite implements [HalfCloser]. It waits for a Write that has begun, as half
// a frame must never be left behind; Close wakes it.
func (c *StreamConn) CloseWrite() error {
	select {
	case <-c.closed:
	case <-c.halved:
	case <-c.write:
		close(c.halved)
	}
	return c.finish()
}

// Close implements Conn: it closes both streams.
func (c *StreamConn) Close() error { return c.stop() }
