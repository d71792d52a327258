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

	"github.com/mcprec/mcprec/transport"
)

// RunStdio serves one client, which speaks on in and hears on out, until in ends or ctx does. What
// was asked before the end of in, or before bytes that are no message, is answered; the latter are an
// error, as is a message of more than mostMessage bytes.
func (x *Server) RunStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return x.runStdio(ctx, in, out, mostMessage)
}

func (x *Server) runStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser, most int) error {
	t := &lastAnswers{inner: &sdk.IOTransport{Reader: &bounded{ReadCloser: in, most: most}, Writer: out}}
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
	case errors.Is(err, errTooLong):
		err = fmt.Errorf("mcp: message %d of standard input is %w", c.read, err)
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

// mostMessage is how many bytes a message of the client may have, with the blanks in front of it: the SDK holds it in
// memory whole, about three times. No tool takes arguments that are a millionth as long.
const mostMessage = 64 << 20

// errTooLong: a message has more bytes than are read.
var errTooLong = errors.New("too long")

// bounded is a stream of JSON values, one of which has at most `most` bytes. It finds their ends by brackets and not by
// lines, because the SDK's decoder takes a value over several lines.
type bounded struct {
	io.ReadCloser
	most     int
	size     int // of the value that is open, with the blanks in front of it
	brackets transport.Brackets
}

// Read fails in place of the bytes that are too many.
func (b *bounded) Read(page []byte) (int, error) {
	count, err := b.ReadCloser.Read(page[:min(len(page), 64<<10)]) // so that no whole value goes with what is too long
	for _, char := range page[:count] {
		b.size++
		if b.brackets.Take(char) {
			b.size = 0
		}
	}
	if b.size > b.most {
		return 0, fmt.Errorf("%w: more than %d MiB, which are not read", errTooLong, b.most>>20)
	}
	return count, err
}
