package standin

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/streamable"
)

// Endpoint serves a recording over HTTP with the transport that it was recorded on. Each
// session of a client has a Player of its own. A stateless recording is one session.
//
// A recording of several sessions, one after the other or side by side, is cut by their
// ids. A client gets the first unused session that begins as the client does, then a used
// one. A request that was refused for its form, such as one without a session id, belongs
// to no session: a live request of the same form is refused in the same way.
type Endpoint struct {
	server *streamable.Server
	rules  match.Rules
	o      EndpointOptions
	parts  []*part

	mu sync.Mutex
}

// EndpointOptions say how an Endpoint serves.
type EndpointOptions struct {
	ServeOptions
	// Origins are web origins that may ask besides those of this machine.
	Origins []string
	// NewLive returns a server for one session, which is asked what is not recorded; nil:
	// an error is the answer.
	NewLive func() *Live
	// Watch is called when a session begins, and returns its ServeOptions.Say and what is
	// called when it is over, for one session at a time. It may be nil, and so may what it
	// returns.
	Watch func() (say func(text string), done func(Served))
}

// Served is a session that was served to a client.
type Served struct {
	Player *Player
	// Unsent is how many messages had no stream to go out on: what belongs to no
	// request that is open, for a client that asked for no other stream.
	Unsent int
	// Added is what passed between the client and the live server, for Extend.
	Added []store.Event
	Err   error

	session string
}

// Extend is [Extend] with what was added, in the MCP session that was served.
func (s Served) Extend(recorded []store.Event) []store.Event {
	return extend(recorded, s.Added, s.session)
}

// part is one of the sessions of a recording.
type part struct {
	events    []store.Event
	exchanges *exchanges
	first     match.Key // of its first request
	taken     bool
}

// NewEndpoint returns an Endpoint for the server's half of a recording. What was
// recorded on stdio is served as Streamable HTTP.
func NewEndpoint(events []store.Event, rules match.Rules, o EndpointOptions) *Endpoint {
	refusals := newRefusals(rules, exchangesOf(events))
	events = refusals.spared(events)
	all := exchangesOf(events)
	e := &Endpoint{rules: rules, o: o}
	for _, events := range all.split(events) {
		p := &part{exchanges: exchangesOf(events)}
		p.events = p.exchanges.spoken(events)
		for m := range clientMessages(events) {
			if m.Kind() == transport.Request {
				p.first, _ = rules.Key(m)
				break
			}
		}
		e.parts = append(e.parts, p)
	}
	stateless := !all.hasSessions()
	if stateless && len(all.order) == 0 { // on stdio, sessions began with the handshake
		for m := range clientMessages(events) {
			stateless = stateless && m.Method != mcp.MethodInitialize
		}
	}
	e.server = streamable.NewServer(streamable.ServerOptions{
		Stateless: stateless, Legacy: all.legacy,
		Standalone: all.listens(), Screen: refusals.screen, Origins: o.Origins, Expected: e.parts[0].exchanges.expected(),
	})
	return e
}

// ServeHTTP implements http.Handler.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.server.ServeHTTP(w, r) }

// Path is where a client should ask, of which only the end matters.
func (e *Endpoint) Path() string {
	if e.parts[0].exchanges.legacy {
		return "/sse"
	}
	return "/mcp"
}

// Run serves until the context is over, or Close was called and all is said.
func (e *Endpoint) Run(ctx context.Context) error {
	var sessions sync.WaitGroup
	defer sessions.Wait()
	for {
		conn, err := e.server.Accept(ctx)
		if err != nil {
			if errors.Is(err, transport.ErrClosed) {
				err = nil
			}
			return err
		}
		sessions.Go(func() { e.serve(ctx, conn) })
	}
}

// Close ends all sessions as if their clients had.
func (e *Endpoint) Close() { e.server.Close() }

// serve plays to one client.
func (e *Endpoint) serve(ctx context.Context, conn *streamable.ServerConn) {
	first, err := conn.Read(ctx)
	if err != nil { // it said nothing
		_ = conn.Close()
		return
	}
	p := e.choose(first)
	if p != e.parts[0] {
		for method, answers := range p.exchanges.expected() {
			conn.Expect(method, answers)
		}
	}
	o := e.o.ServeOptions
	o.Heard = func(live, recorded uint64) {
		if ex := p.exchanges.byNumber[recorded]; ex != nil {
			conn.Answer(live, ex.answer())
		}
	}
	var done func(Served)
	if e.o.Watch != nil {
		o.Say, done = e.o.Watch()
	}
	if e.o.NewLive != nil {
		o.Live = e.o.NewLive()
	}
	served := Served{Player: NewPlayer(p.events, e.rules), session: p.exchanges.lastSession()}
	served.Err = Serve(ctx, &peeked{Conn: conn, first: &first}, served.Player, o)
	if o.Live != nil {
		served.Added, served.Err = o.Live.Added(), errors.Join(served.Err, o.Live.Err())
	}
	served.Unsent = conn.Unsent()
	e.mu.Lock()
	defer e.mu.Unlock()
	if done != nil {
		done(served)
	}
}

// choose finds the part of the recording for a client that begins with the frame.
func (e *Endpoint) choose(first transport.Frame) *part {
	e.mu.Lock()
	defer e.mu.Unlock()
	var key match.Key
	for _, m := range timeline.MessagesOf(first) {
		if m.Kind() == transport.Request && key == "" {
			key, _ = e.rules.Key(m)
		}
	}
	var best *part
	most := -1
	for _, p := range e.parts {
		fit := 0
		if p.first == key {
			fit = 2
		}
		if !p.taken {
			fit++
		}
		if fit > most {
			best, most = p, fit
		}
	}
	best.taken = true
	return best
}

// peeked is a Conn whose first frame was read before.
type peeked struct {
	transport.Conn
	first *transport.Frame
}

// Read implements Conn.
func (p *peeked) Read(ctx context.Context) (transport.Frame, error) {
	if f := p.first; f != nil {
		p.first = nil
		return *f, nil
	}
	return p.Conn.Read(ctx)
}
