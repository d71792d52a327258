package mcpgo

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"

	client "github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/transport"
)

// Client returns conn as the SDK's client transport. The client owns conn from then
// on, and closes it.
func Client(conn transport.Conn) client.Interface {
	s := newStream(conn)
	logging := io.NopCloser(strings.NewReader("")) // early releases close it unasked
	return &calls{Stdio: client.NewIO(s, s, logging), stream: s}
}

// Serve is the SDK's Listen over conn: it returns when the client has closed or ctx
// ends, and closes conn.
func Serve(ctx context.Context, s *server.StdioServer, conn transport.Conn) error {
	defer conn.Close()
	stream := newStream(conn)
	return s.Listen(ctx, stream, stream)
}

// calls is the SDK's own transport, which writes without a context. It keeps the
// contexts of the calls under way, for the Writes of their requests.
type calls struct {
	*client.Stdio
	stream *stream
}

// SendRequest implements [client.Interface].
func (c *calls) SendRequest(ctx context.Context, request client.JSONRPCRequest) (*client.JSONRPCResponse, error) {
	if id, err := json.Marshal(request.ID); err == nil {
		c.stream.sign(string(id), ctx)
		defer c.stream.forget(string(id))
	}
	return c.Stdio.SendRequest(ctx, request)
}

// signatures are the contexts of calls under way, by the raw JSON of their ids.
type signatures struct {
	mu    sync.Mutex
	calls map[string]context.Context
}

func (s *signatures) sign(id string, ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[id] = ctx
}

func (s *signatures) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}

// of returns the context for the Write of a frame. Nothing ends it: over stdio
// nothing but a reader or a close ends a Write.
func (s *signatures) of(f transport.Frame) context.Context {
	messages, err := f.Messages()
	if err != nil || len(messages) != 1 || messages[0].Kind() != transport.Request {
		return context.Background()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx, ok := s.calls[string(messages[0].ID)]; ok {
		return context.WithoutCancel(ctx)
	}
	return context.Background()
}
