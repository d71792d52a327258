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
	s := &signed{Conn: conn, calls: map[string]context.Context{}}
	stream := transport.NewByteStream(s)
	logging := io.NopCloser(strings.NewReader("")) // early releases close it unasked
	return &signer{Stdio: client.NewIO(stream, stream, logging), conn: s}
}

// Serve is the SDK's Listen over conn: it returns when the client has closed or ctx
// ends, and closes conn.
func Serve(ctx context.Context, s *server.StdioServer, conn transport.Conn) error {
	defer conn.Close()
	stream := transport.NewByteStream(conn)
	return s.Listen(ctx, stream, stream)
}

// signer is the SDK's own transport, which writes without a context. It leaves the
// contexts of calls where the Writes of their requests find them.
type signer struct {
	*client.Stdio
	conn *signed
}

// SendRequest implements [client.Interface].
func (s *signer) SendRequest(ctx context.Context, request client.JSONRPCRequest) (*client.JSONRPCResponse, error) {
	if id, err := json.Marshal(request.ID); err == nil {
		s.conn.begin(string(id), ctx)
		defer s.conn.end(string(id))
	}
	return s.Stdio.SendRequest(ctx, request)
}

// signed is the Conn of a signer.
type signed struct {
	transport.Conn
	mu    sync.Mutex                 // never held across a wait
	calls map[string]context.Context // under way, by the raw JSON of their ids
}

func (s *signed) begin(id string, ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[id] = ctx
}

func (s *signed) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}

// Write writes a request under the values of its call's context. Nothing ends it: over
// stdio nothing but a reader or a close ends a Write.
func (s *signed) Write(ctx context.Context, f transport.Frame) error {
	return s.Conn.Write(s.of(ctx, f), f)
}

func (s *signed) of(ctx context.Context, f transport.Frame) context.Context {
	messages, err := f.Messages()
	if err != nil || len(messages) != 1 || messages[0].Kind() != transport.Request {
		return ctx
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if call, ok := s.calls[string(messages[0].ID)]; ok {
		return context.WithoutCancel(call)
	}
	return ctx
}
