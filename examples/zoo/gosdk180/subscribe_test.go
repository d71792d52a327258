package gosdk180

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// The cases of this file are of revision 2026-07-28, in which a subscription is a request
// that stays open, subscriptions/listen. mcprec found them; the reports are in docs/bugs.

const uri = "mem://a"

// TestResubscribe: docs/bugs/gosdk-resubscribe-is-lost. The end of the first listen deletes
// the entry of the second one.
func TestResubscribe(t *testing.T) {
	zoo.Case{
		Name: "go-sdk resubscribe is lost",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{Schedules: 600, Setup: func(r *explore.Run) {
			s := subscribe(r, nil)
			r.Op("subscribe", func(ctx context.Context) error {
				s.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
				s.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri})
				return s.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
			}).After("connect")
			r.Op("update", func(ctx context.Context) error {
				first, second := false, false
				for !first || !second { // all that the server has to say to the three
					m, err := next(ctx, s.wrote)
					if err != nil {
						return err
					}
					first = first || string(m.ID) == "2"
					second = second || m.Method == "notifications/subscriptions/acknowledged" && strings.Contains(string(m.Params), `subscriptionId":3`)
				}
				return s.server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri})
			}).After("connect")
			r.ClientMustReceive("notifications/resources/updated").Since("update")
			s.closeLast(r)
		}},
		Want: map[string]zoo.Want{
			"v1.8.0":     {Verdict: explore.CheckFailed, Category: explore.NeverSent, Says: []string{"the client must receive notifications/resources/updated", "subscriptions/listen"}},
			"v1.8.0+fix": {},
		},
	}.Run(t)
}

// TestSubscribeTooEarly: docs/bugs/gosdk-subscribe-returns-too-early.
func TestSubscribeTooEarly(t *testing.T) {
	zoo.Case{
		Name: "go-sdk Subscribe returns too early",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{Capacities: []explore.Capacity{{C2S: 1, S2C: 1}}, Setup: func(r *explore.Run) {
			s := subscribe(r, nil)
			r.Op("subscribe", func(ctx context.Context) error {
				return s.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
			}).After("connect")
			r.Op("update", func(ctx context.Context) error {
				return s.server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri})
			}).After("subscribe")
			r.ClientMustReceive("notifications/resources/updated").Since("update")
			s.closeLast(r)
		}},
		Want: map[string]zoo.Want{"v1.8.0": {Verdict: explore.CheckFailed, Category: explore.NeverSent, Says: []string{"the client must receive notifications/resources/updated"}}},
	}.Run(t)
}

// TestUnsubscribe: docs/bugs/gosdk-unsubscribe-stops-list-changed, fixed after v1.8.0.
func TestUnsubscribe(t *testing.T) {
	zoo.Case{
		Name: "go-sdk 1275 Unsubscribe ends all",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			s := subscribe(r, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {}})
			ended := make(chan bool, 2)
			s.server.AddReceivingMiddleware(after("subscriptions/listen", ended))
			r.Op("subscribe", func(ctx context.Context) error {
				s.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
				s.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri})
				return hear(ctx, ended)
			}).After("connect")
			r.Op("change", func(context.Context) error { s.server.RemoveTools("greet"); return nil }).After("subscribe")
			r.ClientMustReceive("notifications/tools/list_changed").Since("change")
			s.closeLast(r)
		}},
		Want: map[string]zoo.Want{"v1.8.0": {Verdict: explore.CheckFailed, Category: explore.NeverSent, Says: []string{"the client must receive notifications/tools/list_changed"}}},
	}.Run(t)
}

// TestUpdatedFirst: docs/bugs/gosdk-updated-before-acknowledged.
func TestUpdatedFirst(t *testing.T) {
	zoo.Case{
		Name: "go-sdk updated before acknowledged",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{Schedules: 600, Setup: func(r *explore.Run) {
			s := subscribe(r, nil)
			r.Op("subscribe", func(ctx context.Context) error {
				return s.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
			}).After("connect")
			r.Op("update", func(ctx context.Context) error {
				return s.server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri})
			}).After("connect")
			s.closeLast(r)
		}},
		Want: map[string]zoo.Want{"v1.8.0": {Verdict: explore.Illegal, Category: "P7", Says: []string{"notifications/resources/updated", "acknowledge"}}},
	}.Run(t)
}

// TestQueuedListen: docs/bugs/gosdk-server-close-vs-queued-listen. The listen is behind the
// cancellation of a call, and a middleware that takes its time.
func TestQueuedListen(t *testing.T) {
	zoo.Case{
		Name: "go-sdk Close with a queued listen",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			s := subscribe(r, nil)
			s.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					time.Sleep(time.Second) // notifications are handled one by one
					return next(ctx, method, req)
				}
			})
			r.Op("subscribe", func(ctx context.Context) error {
				calling, stop := context.WithCancel(ctx)
				stop()
				s.session.CallTool(calling, &mcp.CallToolParams{Name: "greet"})
				s.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
				return nil
			}).After("connect")
			r.Op("close server", func(context.Context) error { s.serverSession.Close(); return nil }).After("connect")
			s.closeLast(r)
		}},
		Want: map[string]zoo.Want{
			"v1.8.0": {Verdict: explore.Hang, Category: explore.BlockedHandler, Says: []string{
				"operation close server", "in mcp.(*ServerSession).Close", "mcp.(*Server).subscriptionsListen"}},
			"v1.8.0+fix": {},
		},
	}.Run(t)
}

// TestStaleList: docs/bugs/gosdk-stale-list-cache. The server tells of a change 10 ms after it,
// and a list that was made before is still on its way.
func TestStaleList(t *testing.T) {
	zoo.Case{
		Name: "go-sdk stale list in the cache",
		SDK:  mcp.NewClient,
		Plan: explore.Plan{Timers: 1, Schedules: 600, Capacities: []explore.Capacity{{}}, Setup: func(r *explore.Run) {
			acknowledged, changed := make(chan bool, 1), make(chan bool, 1)
			s := subscribe(r, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- true },
			})
			s.client.AddReceivingMiddleware(after("notifications/subscriptions/acknowledged", acknowledged))
			r.Op("subscribe", func(ctx context.Context) error { return hear(ctx, acknowledged) }).After("connect")
			r.Op("list", func(ctx context.Context) error {
				_, err := s.session.ListTools(ctx, nil)
				return err
			}).After("subscribe")
			r.Op("change", func(context.Context) error { s.server.RemoveTools("greet"); return nil }).After("subscribe")
			r.Op("list again", func(ctx context.Context) error {
				select {
				case <-changed:
				case <-time.After(time.Minute): // the server drops a message that waits for 10 s
					return nil
				}
				listed, err := s.session.ListTools(ctx, nil)
				if err == nil && len(listed.Tools) > 0 {
					err = fmt.Errorf("the server has no tools, and ListTools gives %d", len(listed.Tools))
				}
				return err
			}).After("list", "change")
			s.closeLast(r)
		}},
		Want: map[string]zoo.Want{
			"v1.8.0": {Verdict: explore.CheckFailed, Says: []string{
				"the server has no tools, and ListTools gives 1", "10ms passed while", "the server wrote notifications/tools/list_changed"}},
			"v1.8.0+fix": {},
		},
	}.Run(t)
}

// TestConnectDeadline: docs/bugs/gosdk-connect-ignores-context. The server answers
// server/discover, and reads no more.
func TestConnectDeadline(t *testing.T) {
	zoo.Case{
		Name: "go-sdk Connect ignores its context",
		SDK:  mcp.NewClient,
		Plan: explore.Plan{Capacities: []explore.Capacity{{}}, Setup: func(r *explore.Run) {
			r.Go(func(ctx context.Context) {
				answer(ctx, r.Server(), `{"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0,"cacheScope":"public","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"silent","version":"1"}}`)
				<-ctx.Done()
			})
			r.Op("connect", func(ctx context.Context) error {
				ctx, stop := context.WithTimeout(ctx, time.Second)
				defer stop()
				client := newClient(&mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {}})
				client.Connect(ctx, gosdk.Transport(r.Client()), nil)
				return nil
			})
		}},
		Want: map[string]zoo.Want{
			"v1.8.0":     {Verdict: explore.Hang, Category: explore.BehindRequest, Says: []string{"operation connect", "mcp.(*Client).Connect"}},
			"v1.8.0+fix": {},
		},
	}.Run(t)
}

// TestServerPings: docs/bugs/gosdk-server-keepalive-pings-2026.
func TestServerPings(t *testing.T) {
	zoo.Case{
		Name: "go-sdk server pings 2026-07-28",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, &mcp.ServerOptions{KeepAlive: time.Minute})
			if _, err := server.Connect(r.Context(), gosdk.Transport(r.Server()), nil); err != nil {
				panic(err)
			}
			r.Op("stay", func(ctx context.Context) error {
				session, err := newClient(nil).Connect(ctx, gosdk.Transport(r.Client()), nil)
				if err != nil {
					return err
				}
				time.Sleep(3 * time.Minute)
				return session.Close()
			})
		}},
		Want: map[string]zoo.Want{
			"v1.8.0":     {Verdict: explore.Illegal, Category: "P5", Says: []string{"ping"}},
			"v1.8.0+fix": {},
		},
	}.Run(t)
}

// TestStuckClient: docs/bugs/gosdk-stuck-client-starves-others, fixed after v1.8.0. One
// client reads nothing, and another hears no change of the tools.
func TestStuckClient(t *testing.T) {
	zoo.Case{
		Name: "go-sdk 1227 stuck client starves",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			server := newServer()
			stuck, _ := mcp.NewInMemoryTransports()
			if _, err := server.Connect(r.Context(), stuck, nil); err != nil {
				panic(err)
			}
			s := connect(r, server, newClient(&mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {}}))
			r.Op("change", func(context.Context) error { server.RemoveTools("greet"); return nil }).After("connect")
			r.ClientMustReceive("notifications/tools/list_changed").Since("change")
			r.Op("close", func(context.Context) error { return s.client.Close() }).AfterAll()
		}},
		Want: map[string]zoo.Want{"v1.8.0": {Verdict: explore.CheckFailed, Category: explore.NeverSent, Says: []string{"the client must receive notifications/tools/list_changed"}}},
	}.Run(t)
}

// subscribed is a server with a resource, and a client of revision 2026-07-28.
type subscribed struct {
	server        *mcp.Server
	serverSession *mcp.ServerSession
	client        *mcp.Client
	session       *mcp.ClientSession     // from the operation "connect" on
	wrote         chan transport.Message // what the server has written
}

// subscribe adds the operation "connect".
func subscribe(r *explore.Run, opts *mcp.ClientOptions) *subscribed {
	s := &subscribed{wrote: make(chan transport.Message, 99)}
	s.server = mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		SetCacheable:       func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs = 3_600_000 },
	})
	s.server.AddTool(&mcp.Tool{Name: "greet", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	s.server.AddResource(&mcp.Resource{URI: uri, Name: "a"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{}, nil
	})
	if opts == nil {
		opts = &mcp.ClientOptions{}
	}
	opts.ResourceUpdatedHandler = func(context.Context, *mcp.ResourceUpdatedNotificationRequest) {}
	s.client = newClient(opts)
	var err error
	if s.serverSession, err = s.server.Connect(r.Context(), gosdk.Transport(&watched{r.Server(), s.wrote}), nil); err != nil {
		panic(err)
	}
	r.Op("connect", func(ctx context.Context) (err error) {
		s.session, err = s.client.Connect(ctx, gosdk.Transport(r.Client()), nil)
		return err
	})
	return s
}

// closeLast closes the client behind all else, or at the end of a run that hangs: a
// goroutine of each listen would be left.
func (s *subscribed) closeLast(r *explore.Run) {
	r.Op("close", func(context.Context) error { return s.session.Close() }).AfterAll()
	r.Go(func(ctx context.Context) {
		<-ctx.Done()
		if s.session != nil {
			s.session.Close()
		}
	})
}

// hear waits for a notification until the run is over.
func hear(ctx context.Context, heard <-chan bool) error {
	_, err := next(ctx, heard)
	return err
}

func next[T any](ctx context.Context, from <-chan T) (value T, err error) {
	select {
	case value = <-from:
		return value, nil
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

// after is a middleware that says when it has handled a message of the method.
func after(method string, handled chan<- bool) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, m string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, m, req)
			if strings.EqualFold(m, method) {
				handled <- true
			}
			return result, err
		}
	}
}

// watched is a Conn that tells what was written to it.
type watched struct {
	transport.Conn
	wrote chan<- transport.Message
}

func (w *watched) Write(ctx context.Context, f transport.Frame) error {
	err := w.Conn.Write(ctx, f)
	if messages, bad := f.Messages(); err == nil && bad == nil {
		w.wrote <- messages[0]
	}
	return err
}
