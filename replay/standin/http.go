package standin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/streamable"
)

// Endpoint serves a recording over HTTP with the recorded transport. Each session of a client
// has a separate Player. A stateless recording is one session.
//
// A recording of several sessions, in sequence or side by side, is cut by session id. A client
// gets the first unused session with the same beginning, then a used session. A request
// refused for its form, such as a missing session id, belongs to no session: a live request of
// the same form is refused in the same way.
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
	// Origins are web origins allowed to ask besides the origins of this machine.
	Origins []string
	// NewLive returns a server for the unrecorded requests of a session; nil: an error
	// answers.
	NewLive func() *Live
	// Watch is called when a session begins. It may set Say, Faults, Told and Tap of the
	// session's options, and returns a function to be called when the session is over, for one
	// session at a time. Watch and the result may be nil.
	Watch func(*ServeOptions) (done func(Served))
}

// Served is a session after it was served to a client.
type Served struct {
	Player *Player
	// Unsent is the number of messages that had no stream to go out on: they belong to no open
	// request, and the client asked for no other stream.
	Unsent int
	// Added are the messages between the client and the live server, for Extend.
	Added []store.Event
	Err   error

	session string
}

// Extend is [Extend] with the added messages, in the served MCP session.
func (s Served) Extend(recorded []store.Event) []store.Event {
	return extend(recorded, s.Added, s.session)
}

// recordedSession is one of the MCP sessions of a recording.
type recordedSession struct {
	events    []store.Event
	exchanges *exchanges
	first     match.Key // of the first request
	taken     bool      // a client has it
}

// NewEndpoint returns an Endpoint for the server's half of a recording. A session recorded on
// stdio is served as Streamable HTTP.
func NewEndpoint(events []store.Event, rules match.Rules, options EndpointOptions) *Endpoint {
	rejections := newRejections(rules, exchangesOf(events))
	events = rejections.spared(events)
	all := exchangesOf(events)
	e := &Endpoint{options: options, rules: rules}
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
	o := all.serverOptions(events)
	o.Screen, o.Origins, o.Expected = rejections.screen, options.Origins, e.sessions[0].exchanges.expected()
	e.server = streamable.NewServer(o)
	return e
}

// serverOptions returns the options of a server that responds to a client as recorded.
func (x *exchanges) serverOptions(events []store.Event) streamable.ServerOptions {
	stateless := !x.hasSessions()
	if stateless && len(x.order) == 0 { // on stdio, sessions began with the handshake
		for _, m := range messagesIn(events) {
			stateless = stateless && m.Method != mcp.MethodInitialize
		}
	}
	hasStream := slices.ContainsFunc(x.order, func(ex *exchange) bool { // outside of the client's requests
		return ex.method == http.MethodGet && ex.streams && ex.resumes == ""
	})
	return streamable.ServerOptions{
		Stateless: stateless, Legacy: x.legacy, Standalone: hasStream && !x.legacy, Expected: x.expected(),
	}
}

// Responses are the HTTP responses of the recorded server, for a shell of its own around a
// [Player]. They do not change.
type Responses struct {
	Options streamable.ServerOptions // of the server
	Events  []store.Event            // for the player

	exchanges *exchanges
}

// ResponsesOf returns the responses of a session, recorded over HTTP or on stdio.
func ResponsesOf(events []store.Event) *Responses {
	x := exchangesOf(events)
	return &Responses{Options: x.serverOptions(events), Events: x.spoken(events), exchanges: x}
}

// To returns the form of the recorded response to the last frame that a player has received on a
// live exchange; false: it is not recorded.
func (r *Responses) To(player *Player, exchange uint64) (answer streamable.Answer, recorded bool) {
	ex := r.exchanges.byNumber[player.streams[exchange]]
	if ex == nil {
		return answer, false
	}
	return ex.answer(), true
}

// ServeHTTP implements http.Handler.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.server.ServeHTTP(w, r) }

// Path returns the path that a client should ask for. Only the end of the path matters.
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

// Close ends every session as if the client had.
func (e *Endpoint) Close() { e.server.Close() }

// serve plays to a client.
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
	o.heard = func(live, recorded uint64) {
		if ex := session.exchanges.byNumber[recorded]; ex != nil {
			conn.Answer(live, ex.answer())
		}
	}
	o.responses = conn
	var done func(Served)
	if e.options.Watch != nil {
		done = e.options.Watch(&o)
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

// choose returns the recorded session for a client with the first frame.
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

// peeked is a Conn with a first frame read before.
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

// Dial returns a client that connects the client's half of a recording to a server over HTTP
// as the recorded client was: in one session or in several, with the standalone stream if
// recorded. A response without success and without a message is right if it was recorded for
// the same request.
func Dial(events []store.Event, url string) streamable.Client {
	x := exchangesOf(events)
	client := streamable.Client{URL: url, Legacy: x.legacy, Listen: x.listenTime()}
	if len(x.order) == 0 {
		return client
	}
	sessions := x.sessions()
	client.Session = func(stream uint64) string { return sessions[stream] }
	rejected := newRejections(match.Rules{}, x).byNumber()
	client.Manner = func(stream uint64) *streamable.Manner {
		ex := x.byNumber[stream]
		if ex == nil {
			return nil
		}
		m := &streamable.Manner{Routing: http.Header{}, MayBreak: ex.none, Patience: ex.patience}
		for name, values := range ex.request {
			if strings.HasPrefix(name, "Mcp-") && name != mcp.HeaderSessionID {
				m.Routing[name] = values
			}
		}
		if f := rejected[stream]; f != nil {
			m.Session = f.form.session
			m.ID = ex.unknown
			m.Path = f.form.path
			m.Header = http.Header{"Accept": ex.request["Accept"], "Content-Type": ex.request["Content-Type"]}
			if f.form.lost {
				m.Header[mcp.HeaderLastEventID] = ex.request[mcp.HeaderLastEventID]
			}
		}
		return m
	}
	client.Forgive = func(stream uint64, statusError *streamable.StatusError) bool {
		ex := x.byNumber[stream]
		return ex != nil && ex.status == statusError.Status
	}
	return client
}

// listenTime returns when the recorded client asked for the standalone stream, granted or not.
// A client on stdio had no stream to ask for.
func (x *exchanges) listenTime() streamable.ListenTime {
	initialized := false
	for _, ex := range x.order {
		switch {
		case x.legacy:
			return streamable.ListenNever
		case ex.method == http.MethodGet && ex.resumes == "" && initialized:
			return streamable.ListenInitialized
		case ex.method == http.MethodGet && ex.resumes == "" && ex.session != "":
			return streamable.ListenAnswered
		}
		initialized = initialized || ex.initialized
	}
	if len(x.order) == 0 {
		return streamable.ListenInitialized
	}
	return streamable.ListenNever
}

// rawRequest is a recorded HTTP request without a message, made by no client of MCP and
// refused by the server for its form: a PUT, a GET without a session, a body that is no
// message.
type rawRequest struct {
	exchange *exchange
	body     []byte
	sent     bool
	status   int   // of the live server
	err      error // why there is no status
}

// RawRequester is a Conn of a client over HTTP that also makes the recorded client's raw
// requests: requests without a message, refused by the server. Each goes out before the first
// later message, and the last requests at the client's end. RawVerdicts returns the verdicts
// on them.
//
// It also waits for the answers that were only a status, unknown to the driver.
type RawRequester struct {
	*streamable.ClientConn
	raw      []*rawRequest
	statuses map[uint64]*statusAnswer // by the number of the exchange
	recorded *exchanges
}

// HangUp ends an exchange as the recorded client did: for good, or to come back to its stream
// with Last-Event-ID.
func (a *RawRequester) HangUp(number uint64) {
	ex := a.recorded.byNumber[number]
	switch {
	case ex == nil || !ex.resumed:
		a.ClientConn.HangUp(number)
	case ex.method == http.MethodGet:
		a.Drop(0)
	default:
		a.Drop(number)
	}
}

// statusAnswer is a recorded answer to a message: only a status, and no success.
type statusAnswer struct {
	exchange *exchange
	asked    bool
	came     func()        // to be called when the live server has answered with that status
	answered chan struct{} // closed then
}

// DialRaw connects a client made by [Dial] for the recording.
func DialRaw(ctx context.Context, client streamable.Client, events []store.Event) (*RawRequester, error) {
	x := exchangesOf(events)
	a := &RawRequester{statuses: map[uint64]*statusAnswer{}, recorded: x}
	rejected := newRejections(match.Rules{}, x).byNumber()
	for _, ex := range x.order {
		if rejected[ex.number] != nil && x.isRawRequest(ex.number) && !ex.other {
			a.raw = append(a.raw, &rawRequest{exchange: ex, body: ex.asked})
		}
		if ex.status >= 300 && ex.messages == 0 && ex.method == http.MethodPost && !x.isRawRequest(ex.number) {
			s := &statusAnswer{exchange: ex, answered: make(chan struct{})}
			s.came = sync.OnceFunc(func() { close(s.answered) })
			a.statuses[ex.number] = s
		}
	}
	forgive := client.Forgive
	client.Forgive = func(stream uint64, statusError *streamable.StatusError) bool {
		forgiven := forgive != nil && forgive(stream, statusError)
		if s := a.statuses[stream]; s != nil && forgiven {
			s.came()
		}
		return forgiven
	}
	var err error
	a.ClientConn, err = client.Dial(ctx)
	return a, err
}

// Write implements Conn.
func (a *RawRequester) Write(ctx context.Context, frame transport.Frame) error {
	if frame.Stream > 0 {
		a.askBefore(ctx, frame.Stream)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if s := a.statuses[frame.Stream]; s != nil {
		s.asked = true
	}
	return a.ClientConn.Write(ctx, frame)
}

// CloseWrite makes the last raw requests and waits for the statuses. The client's side of a
// session over HTTP has no separate end.
func (a *RawRequester) CloseWrite() error {
	ctx, stop := context.WithTimeout(context.Background(), partingTimeout)
	defer stop()
	a.askBefore(ctx, math.MaxUint64)
	for _, s := range a.statuses {
		if s.asked {
			select {
			case <-s.answered:
			case <-ctx.Done():
			}
		}
	}
	return errors.ErrUnsupported
}

// askBefore makes the raw requests recorded before an exchange.
func (a *RawRequester) askBefore(ctx context.Context, exchange uint64) {
	for _, r := range a.raw {
		if r.exchange.number < exchange && !r.sent {
			r.sent = true
			r.status, r.err = a.Aside(ctx, r.exchange.number, r.exchange.method, r.body)
		}
	}
}

// RawVerdicts returns, after the drive, the verdicts on raw requests and statuses.
func (a *RawRequester) RawVerdicts() (list []match.StepVerdict) {
	for _, r := range a.raw {
		what := r.exchange.method + " " + pathOf(r.exchange.path)
		want := r.exchange.status
		v := match.StepVerdict{Seq: r.exchange.head, Dir: transport.ServerToClient, What: what, Result: match.Match}
		switch {
		case !r.sent:
			v.Result, v.Text = match.NotSent, fmt.Sprintf("%s: what it follows did not come", what)
		case r.err != nil:
			v.Result, v.Text = match.Missing, fmt.Sprintf("%s was answered %d; now there is no answer: %v", what, want, r.err)
		case r.status != want:
			v.Result, v.Text = match.Mismatch, fmt.Sprintf("%s was answered %d, and now %d %s", what, want, r.status, http.StatusText(r.status))
			v.Differences = []match.Difference{{Path: "/status", Want: strconv.Itoa(want), Got: strconv.Itoa(r.status)}}
		}
		list = append(list, v)
	}
	for _, number := range slices.Sorted(maps.Keys(a.statuses)) {
		s := a.statuses[number]
		if !s.asked {
			continue
		}
		what := fmt.Sprintf("the status of %s %s", s.exchange.method, pathOf(s.exchange.path))
		v := match.StepVerdict{Seq: s.exchange.head, Dir: transport.ServerToClient, What: what, Result: match.Match}
		select {
		case <-s.answered:
		default:
			v.Result, v.Text = match.Missing, fmt.Sprintf("#%d, %s, was %d, which did not come", v.Seq, what, s.exchange.status)
		}
		list = append(list, v)
	}
	return list
}
