package mcpgo

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync/atomic"

	client "github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/transport"
)

// Client returns conn as the SDK's client transport. The client owns conn from then
// on, and closes it.
//
// It hides the mutex that the SDK's writers share: they take turns on a channel before
// they come to it, in the order in which they came, so that which writer goes first is
// never the mutex's choice, and a hang that takes a wait for it looks like one for the turn.
func Client(conn transport.Conn) client.Interface {
	transport.Hide(conn, "mcpgo.Client lets writers take turns in the order in which they came: another order at the SDK's mutex is not tried")
	t := &turns{Conn: conn, free: make(chan struct{}, 1)}
	stream := transport.NewByteStream(t)
	logging := io.NopCloser(strings.NewReader("")) // early releases close it unasked
	return &queued{Stdio: client.NewIO(stream, stream, logging), turns: t}
}

// Serve is the SDK's Listen over conn: it returns when the client has closed or ctx
// ends, and closes conn. Then it ends the context that the SDK was given: what the SDK
// leaves running on that would take the notifications of the next session.
func Serve(ctx context.Context, s *server.StdioServer, conn transport.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer conn.Close()
	stream := transport.NewByteStream(conn)
	return s.Listen(ctx, stream, stream)
}

// turns is a Conn whose writers take turns before they come to the SDK's mutex, which
// is then never waited for.
type turns struct {
	transport.Conn
	free  chan struct{}        // holds the turn that is taken
	taken atomic.Pointer[turn] // nil: the next Write is nobody's
}

// Hides passes on what a helper hides.
func (t *turns) Hides(what string) { transport.Hide(t.Conn, what) }

// turn is the right to write one frame, under a context.
type turn struct{ ctx context.Context }

// take waits for the turn to write. Like the mutex it stands for, no context ends it.
func (t *turns) take(ctx context.Context) *turn {
	own := &turn{ctx}
	t.free <- struct{}{}
	t.taken.Store(own)
	return own
}

// takeFor waits for the turn to write a message of a context, and returns the context for the
// SDK, which writes nothing under one that has ended. With the SDK's mutex it looks before the
// wait: a context that ends in the wait is not seen to have ended until the message is written.
func (t *turns) takeFor(ctx context.Context) (context.Context, *turn) {
	ended := ctx.Err() != nil
	own := t.take(ctx)
	if ended {
		return ctx, own
	}
	return &unended{ctx, t, own}, own
}

// unended is a context that goes on at least until its message is written.
type unended struct {
	context.Context
	turns *turns
	own   *turn
}

// Done implements [context.Context].
func (u *unended) Done() <-chan struct{} {
	if u.turns.taken.Load() == u.own {
		return nil
	}
	return u.Context.Done()
}

// Err implements [context.Context].
func (u *unended) Err() error {
	if u.turns.taken.Load() == u.own {
		return nil
	}
	return u.Context.Err()
}

// end gives the turn to the next one, unless it was given on before.
func (t *turns) end(own *turn) {
	if own != nil && t.taken.CompareAndSwap(own, nil) {
		<-t.free
	}
}

// Write writes under the values of the context whose turn it is, and ends the turn.
// Nothing ends the Write: over stdio nothing but a reader or a close does.
func (t *turns) Write(ctx context.Context, f transport.Frame) error {
	own := t.taken.Load()
	defer t.end(own)
	if own != nil {
		ctx = context.WithoutCancel(own.ctx)
	}
	return t.Conn.Write(ctx, f)
}

// queued is the SDK's own transport.
type queued struct {
	*client.Stdio
	turns *turns
}

// SendRequest implements [client.Interface].
func (q *queued) SendRequest(ctx context.Context, request client.JSONRPCRequest) (*client.JSONRPCResponse, error) {
	ctx, own := q.turns.takeFor(ctx)
	defer q.turns.end(own) // where nothing was written
	return q.Stdio.SendRequest(ctx, request)
}

// SendNotification implements [client.Interface].
func (q *queued) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	ctx, own := q.turns.takeFor(ctx)
	defer q.turns.end(own)
	return q.Stdio.SendNotification(ctx, n)
}

// SetRequestHandler implements [client.BidirectionalInterface]. The SDK writes what a
// handler returns right after it, if it can be encoded.
func (q *queued) SetRequestHandler(handler client.RequestHandler) {
	q.Stdio.SetRequestHandler(func(ctx context.Context, request client.JSONRPCRequest) (*client.JSONRPCResponse, error) {
		response, err := handler(ctx, request)
		if _, bad := json.Marshal(response); err != nil || response != nil && bad == nil {
			q.turns.take(ctx)
		}
		return response, err
	})
}
