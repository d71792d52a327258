package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// RunStdio serves one client, which speaks on in and hears on out, until in ends or ctx does. What
// was asked before the end of in, or before bytes that are no message, is answered; the latter are an
// error.
func (x *Server) RunStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	t := &lastAnswers{inner: &sdk.IOTransport{Reader: in, Writer: out}}
	err := x.sdkServer().Run(ctx, t)
	if t.ended.Load() {
		return nil
	}
	return err
}

// lastAnswers is a transport whose connection ends for its reader when the answers under way have
// been written. The SDK drops them at the end of its input, and a client may close its end as soon
// as it has asked.
type lastAnswers struct {
	inner sdk.Transport
	ended atomic.Bool // the client has closed its end
}

// Connect implements [sdk.Transport].
func (t *lastAnswers) Connect(ctx context.Context) (sdk.Connection, error) {
	inner, err := t.inner.Connect(ctx)
	return &answering{Connection: inner, ended: &t.ended, answered: make(chan struct{}, 1), closed: make(chan struct{})}, err
}

// answering is a connection of lastAnswers.
type answering struct {
	sdk.Connection
	ended    *atomic.Bool
	read     int           // messages, also a bad one; of the one goroutine that reads
	owed     atomic.Int64  // requests without an answer
	answered chan struct{} // has an element when an answer was written
	close    sync.Once
	closed   chan struct{}
}

// Read implements [sdk.Connection]. A message that the end of the input cuts is one of a client that
// was killed: it counts as the end.
func (c *answering) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	c.read++
	switch {
	case err == nil:
		request, isRequest := message.(*jsonrpc.Request)
		if isRequest && request.ID.IsValid() {
			c.owed.Add(1)
		}
	case ctx.Err() != nil:
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = io.EOF
		c.ended.Store(true)
		c.wait(ctx)
	default:
		err = fmt.Errorf("mcp: read message %d of standard input: %w; want a JSON-RPC message on each line", c.read, err)
		c.wait(ctx)
	}
	return message, err
}

// wait returns when every request has its answer, or the connection is closed.
func (c *answering) wait(ctx context.Context) {
	for c.owed.Load() > 0 {
		select {
		case <-c.answered:
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Write implements [sdk.Connection].
func (c *answering) Write(ctx context.Context, message jsonrpc.Message) error {
	err := c.Connection.Write(ctx, message)
	if _, ok := message.(*jsonrpc.Response); ok {
		c.owed.Add(-1)
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
	return err
}

// Close implements [sdk.Connection].
func (c *answering) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
