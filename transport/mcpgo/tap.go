package mcpgo

import (
	"context"
	"encoding/json"
	"sync"

	client "github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/transport"
)

// Tap returns the SDK's in-process transport with a tap around it, for a client:
//
//	t := transport.NewInProcessTransport(s)
//	c := client.NewClient(mcpgo.Tap(t, r))
//
// No byte crosses in process. What is recorded is each message as the SDK encodes it,
// when it is handed over: a request and a notification before the server has it, what
// comes back before the client has it. What the server asks (sampling) is a call of a
// handler that no transport sees, and is not in the recording; over [ServeInProcess]
// it is. The recorder stays the caller's: close it after the session.
//
// The SDK's other transports are not taken. Theirs have bytes: record these, by
// the [recorder.Recorder.Conn] of what [Client] is given; of stdio messages alone no
// order can be told between a response and what came behind it.
func Tap(t *client.InProcessTransport, r *recorder.Recorder) client.Interface {
	return &tapped{
		InProcessTransport: t,
		out:                r.Tap(transport.ClientToServer), in: r.Tap(transport.ServerToClient),
	}
}

// tapped is an in-process transport under a tap.
type tapped struct {
	*client.InProcessTransport
	mu      sync.Mutex // for the taps; never held across a call
	out, in *recorder.Tap
}

// SendRequest implements [client.Interface].
func (t *tapped) SendRequest(ctx context.Context, request client.JSONRPCRequest) (*client.JSONRPCResponse, error) {
	t.observe(t.out, request)
	response, err := t.InProcessTransport.SendRequest(ctx, request)
	if err == nil {
		t.observe(t.in, response)
	}
	return response, err
}

// SendNotification implements [client.Interface].
func (t *tapped) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	t.observe(t.out, n)
	return t.InProcessTransport.SendNotification(ctx, n)
}

// SetNotificationHandler implements [client.Interface].
func (t *tapped) SetNotificationHandler(handler func(mcp.JSONRPCNotification)) {
	t.InProcessTransport.SetNotificationHandler(func(n mcp.JSONRPCNotification) {
		t.observe(t.in, n)
		handler(n)
	})
}

// observe records a message. One that cannot be encoded cannot be sent either: the
// SDK says so itself.
func (t *tapped) observe(tap *recorder.Tap, message any) {
	b, err := json.Marshal(message)
	if err != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	tap.Observe(append(b, '\n'))
}
