package mcpgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/transport"
	protocol "github.com/mcprec/mcprec/transport/mcp"
)

// inboxSize is how many notifications wait for the client, as in the SDK's session:
// one more is refused (ErrNotificationChannelBlocked).
const inboxSize = 100

// InProcessOption adds an ability to the session of [ServeInProcess].
type InProcessOption func(*inProcess) server.ClientSession

// ServeInProcess serves conn from s as the SDK's in-process transport does, without
// the one session that a process has for stdio: it may run several times at once, with
// the same server too, and in a testing/synctest bubble. It returns when the client has
// closed (nil), when ctx ends or conn fails, after every handler has returned, and
// closes conn.
//
// It hides the worker queue of the SDK's stdio server, which handles five calls at a time
// unless told otherwise: here each call has a goroutine of its own, so that calls which
// wait for one another never exhaust the workers. Explore Serve, under explore.Settle, for
// that.
//
// See the package doc for what runs where. The contexts of all handlers end when it does.
func ServeInProcess(ctx context.Context, s *server.MCPServer, conn transport.Conn, opts ...InProcessOption) error {
	defer conn.Close()
	transport.Hide(conn, "mcpgo.ServeInProcess has no worker queue: calls that wait for one another never run out of workers, as they may on stdio")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := join(ctx, s, conn, opts)
	if err != nil {
		return err
	}
	defer s.UnregisterSession(context.WithoutCancel(ctx), p.SessionID())
	p.running.Go(func() { p.forward(ctx) })
	err = p.read(ctx)
	cancel()
	conn.Close() // which frees who writes
	p.running.Wait()
	return err
}

// inProcess is a session, and who serves it.
type inProcess struct {
	*server.InProcessSession
	*asker

	server        *server.MCPServer
	session       server.ClientSession // this, under the options
	notifications chan mcp.JSONRPCNotification
	running       sync.WaitGroup

	mu    sync.Mutex // never held across a wait
	calls map[protocol.Key]context.CancelFunc
}

// join registers a session under the first name that is free: the SDK's own names
// are of the time, which stands still in a bubble.
func join(ctx context.Context, s *server.MCPServer, conn transport.Conn, opts []InProcessOption) (*inProcess, error) {
	for n := 1; ; n++ {
		asks := &asker{conn: conn, open: map[protocol.Key]chan transport.Message{}}
		p := &inProcess{
			InProcessSession: server.NewInProcessSession(fmt.Sprintf("inprocess-%d", n), asks),
			asker:            asks, server: s,
			notifications: make(chan mcp.JSONRPCNotification, inboxSize),
			calls:         map[protocol.Key]context.CancelFunc{},
		}
		p.session = p
		for _, opt := range opts {
			p.session = opt(p)
		}
		err := s.RegisterSession(ctx, p.session)
		switch {
		case err == nil:
			return p, nil
		case !errors.Is(err, server.ErrSessionExists):
			return nil, fmt.Errorf("serve in process: %w", err)
		}
	}
}

// NotificationChannel implements [server.ClientSession]. Early releases let nobody
// read the channel of their own session.
func (p *inProcess) NotificationChannel() chan<- mcp.JSONRPCNotification { return p.notifications }

// forward writes notifications, on a goroutine of its own as the SDK's.
func (p *inProcess) forward(ctx context.Context) {
	for {
		select {
		case n := <-p.notifications:
			if b, err := json.Marshal(n); err == nil {
				p.conn.Write(ctx, transport.Frame{Bytes: b})
			}
		case <-ctx.Done():
			return
		}
	}
}

// read takes frames until the client has closed.
func (p *inProcess) read(ctx context.Context) error {
	for {
		f, err := p.conn.Read(ctx)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, transport.ErrClosed):
			return nil
		case err != nil:
			return fmt.Errorf("serve in process: %w", err)
		}
		if len(transport.TrimBlanks(f.Bytes)) > 0 {
			p.take(ctx, f)
		}
	}
}

// take does with a frame what its sender would have done by a function call.
func (p *inProcess) take(ctx context.Context, f transport.Frame) {
	messages, err := f.Messages()
	if err != nil || len(messages) != 1 { // the SDK knows no batch, and says so
		p.answer(ctx, nil, f.Bytes)
		return
	}
	switch m := messages[0]; m.Kind() {
	case transport.Response:
		p.heard(m)
	case transport.Notification:
		p.cancelled(m)
		p.server.HandleMessage(ctx, f.Bytes) // without a session, as the SDK's
	default:
		p.call(ctx, m)
	}
}

// call handles a request on a goroutine of its own, which stands for the caller's.
func (p *inProcess) call(ctx context.Context, m transport.Message) {
	ctx, cancel := context.WithCancel(ctx)
	id := protocol.KeyOf(m.ID)
	p.mu.Lock()
	p.calls[id] = cancel
	p.mu.Unlock()
	p.running.Go(func() {
		p.answer(p.server.WithContext(ctx, p.session), m.ID, m.Raw)
		p.mu.Lock()
		delete(p.calls, id)
		p.mu.Unlock()
		cancel()
	})
}

// cancelled ends the context of a call: by a function call it would be the caller's.
func (p *inProcess) cancelled(m transport.Message) {
	if m.Method != protocol.NotificationCancelled {
		return
	}
	p.mu.Lock()
	cancel := p.calls[protocol.KeyOf(transport.Member(m.Params, protocol.MemberRequestID))]
	p.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// answer handles a message and writes what the SDK says to it, unless the call was
// cancelled, which the specification says not to answer.
func (p *inProcess) answer(ctx context.Context, id json.RawMessage, message []byte) {
	answer := p.server.HandleMessage(ctx, message)
	if answer == nil || ctx.Err() != nil {
		return
	}
	b, err := json.Marshal(answer)
	if err != nil {
		b = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, mcp.INTERNAL_ERROR, err.Error())
	}
	p.conn.Write(ctx, transport.Frame{Bytes: b})
}
