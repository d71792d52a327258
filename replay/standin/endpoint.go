package standin

import (
	"context"
	"errors"
	"net/http"
	"slices"
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
// A recording of several sessions, one after the other or side by side, is cut by their ids.
// A client gets the first unused session that begins as the client does, then a used one. A
// request that was refused for its form, such as one without a session id, belongs to no
// session: a live request of the same form is refused in the same way.
type Endpoint struct {
	options  EndpointOptions
	server   *streamable.Server
	rules    match.Rules
	sessions []*recordedSession

	mu sync.Mutex // guards recordedSession.taken, and held for a call of Watch's done
}

// EndpointOptions say how an Endpoint serves.
type EndpointOptions struct {
	ServeOptions
	// Origins are web origins that may ask besides those of this machine.
	Origins []string
	// NewLive returns a server for one session, which gets the requests that are not
	// recorded; nil: an error answers them.
	NewLive func() *Live
	// Watch is called when a session begins. It returns the session's ServeOptions.Say, and a
	// function that is called when the session is over, for one session at a time. Watch may
	// be nil, and so may its results.
	Watch func() (say func(text string), done func(Served))
}

// Served is a session that was served to a client.
type Served struct {
	Player *Player
	// Unsent is the number of messages that had no stream to go out on: they belong to no
	// open request, and the client asked for no other stream.
	Unsent int
	// Added are the messages between the client and the live server, for Extend.
	Added []store.Event
	Err   error

	session string
}

// Extend is [Extend] with the added messages, in the MCP session that was served.
func (s Served) Extend(recorded []store.Event) []store.Event {
	return extend(recorded, s.Added, s.session)
}

// recordedSession is one of the MCP sessions of a recording.
type recordedSession struct {
	events    []store.Event
	exchanges *exchanges
	first     match.Key // of its first request
	taken     bool      // a client has it
}

// NewEndpoint returns an Endpoint for the server's half of a recording. A session recorded on
// stdio is served as Streamable HTTP.
func NewEndpoint(events []store.Event, rules match.Rules, o EndpointOptions) *Endpoint {
	rejections := newRejections(rules, exchangesOf(events))
	events = rejections.spared(events)
	all := exchangesOf(events)
	e := &Endpoint{options: o, rules: rules}
	for _, events := range all.split(events) {
		s := &recordedSession{exchanges: exchangesOf(events)}
		s.events = s.exchanges.spoken(events)
		for dir, m := range messagesIn(events) {
			if dir == transport.ClientToServer && m.Kind() == transport.Request {
				s.first, _ = rules.Key(m)
				break
			}
		}
		e.sessions = append(e.sessions, s)
	}
	stateless := !all.hasSessions()
	if stateless && len(all.order) == 0 { // on stdio, sessions began with the handshake
		for _, m := range messagesIn(events) {
			stateless = stateless && m.Method != mcp.MethodInitialize
		}
	}
	hasStream := slices.ContainsFunc(all.order, func(ex *exchange) bool { // outside of the client's requests
		return ex.method == http.MethodGet && ex.streams && ex.resumes == ""
	})
	e.server = streamable.NewServer(streamable.ServerOptions{
		Stateless: stateless, Legacy: all.legacy, Standalone: hasStream && !all.legacy,
		Screen: rejections.screen, Origins: o.Origins, Expected: e.sessions[0].exchanges.expected(),
	})
	return e
}

// ServeHTTP implements http.Handler.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.server.ServeHTTP(w, r) }

// Path returns the path that a client should ask for. Only its end matters.
func (e *Endpoint) Path() string {
	if e.sessions[0].exchanges.legacy {
		return "/sse"
	}
	return "/mcp"
}

// Run serves until the context is over, or until Close was called and everything is written.
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
	if err != nil { // the client said nothing
		_ = conn.Close()
		return
	}
	session := e.choose(first)
	if session != e.sessions[0] {
		for method, answers := range session.exchanges.expected() {
			conn.Expect(method, answers)
		}
	}
	o := e.options.ServeOptions
	o.Heard = func(live, recorded uint64) {
		if ex := session.exchanges.byNumber[recorded]; ex != nil {
			conn.Answer(live, ex.answer())
		}
	}
	var done func(Served)
	if e.options.Watch != nil {
		o.Say, done = e.options.Watch()
	}
	if e.options.NewLive != nil {
		o.Live = e.options.NewLive()
	}
	served := Served{Player: NewPlayer(session.events, e.rules), session: session.exchanges.lastSession()}
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

// choose returns the recorded session for a client that begins with the frame.
func (e *Endpoint) choose(first transport.Frame) *recordedSession {
	e.mu.Lock()
	defer e.mu.Unlock()
	var key match.Key
	for _, m := range timeline.MessagesOf(first) {
		if m.Kind() == transport.Request && key == "" {
			key, _ = e.rules.Key(m)
		}
	}
	fit := func(s *recordedSession) (n int) {
		if s.first == key {
			n += 2
		}
		if !s.taken {
			n++
		}
		return n
	}
	best := slices.MaxFunc(e.sessions, func(a, b *recordedSession) int { return fit(a) - fit(b) })
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
