package gosdk180

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
)

// The cases of this file are over Streamable HTTP. The reports are in docs/bugs.

// TestResumeTwice: docs/bugs/gosdk-resume-forgets-last-event-id. The connection breaks twice
// before another event with an id has come.
func TestResumeTwice(t *testing.T) {
	zoo.Case{
		Name: "go-sdk resume forgets its event",
		SDK:  mcp.NewClient,
		Plan: explore.Plan{HTTP: &explore.HTTP{Cuts: 2}, Setup: func(r *explore.Run) {
			server := newServer()
			server.AddTool(&mcp.Tool{Name: "work", InputSchema: map[string]any{"type": "object"}},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{}, nil
				})
			r.Handle(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
				&mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)}))
			r.Op("call", func(ctx context.Context) error {
				session, err := newClient(nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: "http://zoo/mcp", HTTPClient: r.HTTPClient()},
					&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
				if err != nil {
					return err
				}
				_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "work"})
				session.Close() // its DELETE may be late: not what this is about
				return err
			})
		}},
		Want: map[string]zoo.Want{
			"v1.8.0":     {Verdict: explore.CheckFailed, Says: []string{"request terminated without response"}},
			"v1.8.0+fix": {},
		},
	}.Run(t)
}

// TestCancelOvertakes: docs/bugs/gosdk-cancel-overtakes-call. The handler that has read a call
// waits for the event store, and the cancellation goes past it.
func TestCancelOvertakes(t *testing.T) {
	zoo.Case{
		Name: "go-sdk cancellation overtakes call",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{HTTP: &explore.HTTP{}, Setup: func(r *explore.Run) {
			server := newServer()
			server.AddTool(&mcp.Tool{Name: "work", InputSchema: map[string]any{"type": "object"}},
				func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				})
			handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
				&mcp.StreamableHTTPOptions{EventStore: &slowStore{mcp.NewMemoryEventStore(nil), r.Context()}})
			begun := make(chan bool)
			calling, giveUp := context.WithCancel(r.Context())
			r.Handle(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				body, err := io.ReadAll(req.Body)
				if err != nil {
					panic(err)
				}
				if bytes.Contains(body, []byte(`"tools/call"`)) {
					close(begun)
				}
				req.Body = io.NopCloser(bytes.NewReader(body))
				handler.ServeHTTP(w, req)
			}))
			var session *mcp.ClientSession
			r.Op("connect", func(ctx context.Context) (err error) {
				session, err = newClient(nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: "http://zoo/mcp", HTTPClient: r.HTTPClient()},
					&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
				return err
			})
			r.Op("call", func(context.Context) error {
				session.CallTool(calling, &mcp.CallToolParams{Name: "work"})
				return nil
			}).After("connect")
			r.Op("begin", func(context.Context) error { <-begun; return nil }).After("connect")
			r.Op("give up", func(context.Context) error { giveUp(); return nil }).After("begin")
			r.Op("close", func(context.Context) error { return session.Close() }).After("call", "give up")
		}},
		Want: map[string]zoo.Want{
			"v1.8.0": {Verdict: explore.CheckFailed, Category: explore.TimerOnly, Says: []string{
				"explore.Point «stored event#3» waits", "operation close: Delete", "mcp.(*ServerSession).Close"}},
			"v1.8.0+fix": {},
		},
	}.Run(t)
}

// TestDeleteWhileAsking: docs/bugs/gosdk-delete-waits-for-client. The client ends its session
// and leaves a tool's question open.
func TestDeleteWhileAsking(t *testing.T) {
	zoo.Case{
		Name: "go-sdk DELETE waits for its client",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{HTTP: &explore.HTTP{}, Excuse: explore.TheClient, Schedules: 1, Shrink: -1, Setup: func(r *explore.Run) {
			server := newServer()
			server.AddTool(&mcp.Tool{Name: "ask", InputSchema: map[string]any{"type": "object"}},
				func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "sure?", RequestedSchema: map[string]any{"type": "object"}})
					return nil, err
				})
			r.Handle(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
			session := ""
			send := func(ctx context.Context, method, body string) (*http.Response, error) {
				req, err := http.NewRequestWithContext(ctx, method, "http://zoo/mcp", strings.NewReader(body))
				if err != nil {
					return nil, err
				}
				req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
					"Mcp-Protocol-Version": {"2025-11-25"}, "Mcp-Session-Id": {session}}
				return r.HTTPClient().Do(req)
			}
			r.Op("connect", func(ctx context.Context) error {
				resp, err := send(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`)
				if err != nil {
					return err
				}
				session = resp.Header.Get("Mcp-Session-Id")
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					return err
				}
				_, err = send(ctx, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				return err
			})
			r.Op("call", func(ctx context.Context) error {
				resp, err := send(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{}}}`)
				if err != nil {
					return err
				}
				for lines := bufio.NewScanner(resp.Body); lines.Scan() && !strings.Contains(lines.Text(), "elicitation/create"); {
				}
				return nil
			}).After("connect")
			r.Op("leave", func(ctx context.Context) error {
				_, err := send(ctx, http.MethodDelete, "")
				return err
			}).After("call")
		}},
		Want: map[string]zoo.Want{
			"v1.8.0": {Verdict: explore.Hang, Category: explore.AnswerLost, Says: []string{
				"mcp.(*StreamableHTTPHandler).serveStatefulDELETE", "the client owes the response to elicitation/create#1"}},
			"v1.8.0+fix": {},
		},
	}.Run(t)
}

// TestSessionTimeout: docs/bugs/gosdk-session-timeout-cannot-close. The client is gone
// while a tool asks its user.
func TestSessionTimeout(t *testing.T) {
	zoo.Case{
		Name: "go-sdk SessionTimeout cannot close",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{Capacities: []explore.Capacity{{}}, Schedules: 1, Shrink: -1, Setup: func(r *explore.Run) {
			server := newServer()
			server.AddTool(&mcp.Tool{Name: "ask", InputSchema: map[string]any{"type": "object"}},
				func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "sure?", RequestedSchema: map[string]any{"type": "object"}})
					return &mcp.CallToolResult{}, err
				})
			web := over(server, &mcp.StreamableHTTPOptions{SessionTimeout: time.Minute})
			network := &cable{RoundTripper: web.Transport}
			calling, gone := context.WithCancel(r.Context())
			client := newClient(&mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					network.cut.Store(true)
					gone()
					<-r.Context().Done()
					return nil, r.Context().Err()
				},
			})
			r.Op("leave", func(ctx context.Context) error {
				session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: "http://zoo/mcp", HTTPClient: &http.Client{Transport: network}},
					&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
				if err != nil {
					return err
				}
				session.CallTool(calling, &mcp.CallToolParams{Name: "ask"})
				return nil
			})
			r.Op("look", func(context.Context) error {
				time.Sleep(10 * time.Hour)
				for range server.Sessions() {
					return errors.New("the client went 10 hours ago, the timeout is a minute, and its session is still there")
				}
				return nil
			}).After("leave")
		}},
		Want: map[string]zoo.Want{
			"v1.8.0": {Verdict: explore.CheckFailed, Category: explore.TimerOnly, Says: []string{
				"its session is still there", "mcp.(*ServerSession).Close", "mcp.(*ServerSession).Elicit"}},
			"v1.8.0+fix": {},
		},
	}.Run(t)
}

// over returns a client of the server's handler.
func over(server *mcp.Server, opts *mcp.StreamableHTTPOptions) *http.Client {
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, opts)
	return &http.Client{Transport: zoo.Web{Handler: handler}}
}

// slowStore takes its time for each event: the engine says how long.
type slowStore struct {
	mcp.EventStore
	run context.Context
}

func (s *slowStore) Append(ctx context.Context, session, stream string, data []byte) error {
	explore.Point(s.run, "stored event")
	return s.EventStore.Append(ctx, session, stream, data)
}

// cable is a network that can be cut.
type cable struct {
	http.RoundTripper
	cut atomic.Bool
}

func (c *cable) RoundTrip(req *http.Request) (*http.Response, error) {
	if c.cut.Load() {
		return nil, fmt.Errorf("no network to %s", req.URL)
	}
	return c.RoundTripper.RoundTrip(req)
}
