package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/transport"
)

// peer is a small JSON-RPC end: a client and a server at once. Its faults are
// switches, so that each planted bug is a line of a test.
type peer struct {
	conn    transport.Conn
	request func(ctx context.Context, m transport.Message) // on a goroutine each
	notify  func(ctx context.Context, m transport.Message) // in the reader

	inline       bool // fault: requests are handled in the reader
	registerLate bool // fault: a call is registered after its Write

	stray func() // what it does at a response that nothing waits for, or nil

	mu      sync.Mutex // never held across a wait
	next    int
	pending map[string]chan transport.Message
}

func newPeer(conn transport.Conn) *peer {
	p := &peer{conn: conn, pending: map[string]chan transport.Message{}}
	p.request = func(ctx context.Context, m transport.Message) { p.answer(ctx, m, `{}`) }
	p.notify = func(context.Context, transport.Message) {}
	return p
}

// send writes one frame.
func (p *peer) send(ctx context.Context, format string, args ...any) error {
	return p.conn.Write(ctx, transport.Frame{Bytes: fmt.Appendf(nil, format, args...)})
}

func (p *peer) answer(ctx context.Context, m transport.Message, result string) {
	_ = p.send(ctx, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (p *peer) tell(ctx context.Context, method string) error {
	return p.send(ctx, `{"jsonrpc":"2.0","method":%q}`, method)
}

// call sends a request and waits for its response.
func (p *peer) call(ctx context.Context, method, params string) (json.RawMessage, error) {
	p.mu.Lock()
	p.next++
	id := fmt.Sprint(p.next)
	p.mu.Unlock()
	got := make(chan transport.Message, 1)
	register := func() {
		p.mu.Lock()
		p.pending[id] = got
		p.mu.Unlock()
	}
	if !p.registerLate {
		register()
	}
	if err := p.send(ctx, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params); err != nil {
		return nil, err
	}
	if p.registerLate {
		register()
	}
	select {
	case m := <-got:
		return m.Result, nil
	case <-ctx.Done():
		p.mu.Lock()
		delete(p.pending, id)
		p.mu.Unlock()
		return nil, ctx.Err()
	}
}

// tool calls a tool and asks for progress.
func (p *peer) tool(ctx context.Context, name string) error {
	_, err := p.call(ctx, "tools/call", fmt.Sprintf(`{"name":%q,"_meta":{"progressToken":%q}}`, name, gate.OperationOf(ctx)))
	return err
}

// read is the peer's loop; it ends with the connection.
func (p *peer) read(ctx context.Context) {
	for {
		f, err := p.conn.Read(ctx)
		if err != nil {
			return
		}
		messages, err := f.Messages()
		if err != nil {
			continue
		}
		p.take(ctx, messages[0])
	}
}

func (p *peer) take(ctx context.Context, m transport.Message) {
	switch {
	case m.Kind() == transport.Notification:
		p.notify(ctx, m)
	case m.Kind() == transport.Request && p.inline:
		p.request(ctx, m)
	case m.Kind() == transport.Request:
		go p.request(ctx, m)
	default:
		p.mu.Lock()
		got := p.pending[string(m.ID)]
		delete(p.pending, string(m.ID))
		p.mu.Unlock()
		switch {
		case got != nil:
			got <- m
		case p.stray != nil:
			p.stray()
		}
	}
}

// pair returns both ends of a run, reading.
func pair(r *Run) (client, server *peer) {
	client, server = newPeer(r.Client()), newPeer(r.Server())
	r.Go(client.read)
	r.Go(server.read)
	return client, server
}

// headOn: both ends answer in their readers, n calls each way.
func headOn(n int) func(*Run) {
	return func(r *Run) {
		client, server := pair(r)
		client.inline, server.inline = true, true
		for i := range n {
			r.Op(fmt.Sprint("call", i), func(ctx context.Context) error { return client.tool(ctx, "x") })
			r.Op(fmt.Sprint("ask", i), func(ctx context.Context) error {
				_, err := server.call(ctx, "ping", `{}`)
				return err
			})
		}
	}
}

// registerAfterWrite: the client drops a response that comes before its Write has
// returned; noise notifications come before the response.
func registerAfterWrite(noise int) func(*Run) {
	return func(r *Run) {
		client, server := pair(r)
		client.registerLate = true
		server.request = func(ctx context.Context, m transport.Message) {
			for range noise {
				_ = server.tell(ctx, "notifications/message")
			}
			server.answer(ctx, m, `{}`)
		}
		r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
	}
}

// staleList: the client forgets a list_changed that overtakes the list.
func staleList(noise int) func(*Run) {
	return func(r *Run) {
		client, server := pair(r)
		version, known, stale := 1, 0, false
		r.Data = func() bool { return stale || known == version }
		server.request = func(ctx context.Context, m transport.Message) {
			server.answer(ctx, m, fmt.Sprint(version))
		}
		client.notify = func(_ context.Context, m transport.Message) {
			stale = stale || m.Method == "notifications/tools/list_changed"
		}
		r.Op("list", func(ctx context.Context) error {
			result, err := client.call(ctx, "tools/list", `{}`)
			stale = false
			_ = json.Unmarshal(result, &known)
			return err
		})
		r.Op("change", func(ctx context.Context) error {
			version++
			return server.tell(ctx, "notifications/tools/list_changed")
		})
		r.Op("stray output", func(ctx context.Context) error {
			for range noise {
				if err := server.tell(ctx, "notifications/message"); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func checkFresh(r *Run) error {
	if fresh := r.Data.(func() bool); !fresh() {
		return errors.New("the client holds an old list and does not know")
	}
	return nil
}

// lateProgress: progress is sent beside the response, and the client is strict.
func lateProgress(r *Run) {
	client, server := pair(r)
	server.request = func(ctx context.Context, m transport.Message) {
		go func() {
			_ = server.send(ctx, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, m.ProgressToken())
		}()
		server.answer(ctx, m, `{}`)
	}
	over := map[string]bool{}
	var late error
	r.Data = func() error { return late }
	client.notify = func(_ context.Context, m transport.Message) {
		if token := string(m.ProgressToken()); over[token] {
			late = fmt.Errorf("progress of %s after its response", token)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		r.Op(name, func(ctx context.Context) error {
			err := client.tool(ctx, name)
			over[fmt.Sprintf("%q", name)] = true
			return err
		})
	}
}

func checkLate(r *Run) error { return r.Data.(func() error)() }

// deepOrder: the server breaks when its first three of four requests come as
// d, b, a.
func deepOrder(r *Run) {
	client, server := pair(r)
	order := ""
	r.Data = func() error {
		if len(order) == 4 && order[:3] == "dba" {
			return errors.New("the requests came as d, b, a")
		}
		return nil
	}
	server.inline = true
	server.request = func(ctx context.Context, m transport.Message) {
		order += string(transport.Member(m.Params, "name")[1:2])
		go server.answer(ctx, m, `{}`)
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		r.Op(name, func(ctx context.Context) error { return client.tool(ctx, name) })
	}
}

// seed is the client of python-sdk issue 594: its receive loop hands notifications
// to a queue that nobody reads from during a call.
func seed(notifications, queue int) func(*Run) {
	return func(r *Run) {
		client, server := pair(r)
		server.request = func(ctx context.Context, m transport.Message) {
			for i := range notifications {
				_ = server.send(ctx, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`,
					m.ProgressToken(), i+1)
			}
			server.answer(ctx, m, `{}`)
		}
		inner := make(chan transport.Message, queue)
		client.notify = func(ctx context.Context, m transport.Message) {
			select {
			case inner <- m:
			case <-ctx.Done():
			}
		}
		r.Op("call", func(ctx context.Context) error {
			err := client.tool(ctx, "x")
			for len(inner) > 0 {
				<-inner
			}
			return err
		})
	}
}

// conforming is a pair without a fault: twin calls with different sequels, with
// progress, and a ping the other way.
func conforming(r *Run) {
	client, server := pair(r)
	server.request = func(ctx context.Context, m transport.Message) {
		if token := m.ProgressToken(); token != nil {
			_ = server.send(ctx, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, token)
		}
		server.answer(ctx, m, `{}`)
	}
	for _, name := range []string{"first", "second"} {
		r.Op(name, func(ctx context.Context) error {
			if err := client.tool(ctx, "twin"); err != nil {
				return err
			}
			return client.tool(ctx, "after "+name)
		})
	}
	r.Op("ping", func(ctx context.Context) error {
		_, err := server.call(ctx, "ping", `{}`)
		return err
	})
}
