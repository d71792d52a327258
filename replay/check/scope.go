package check

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// scope is what has ids of its own.
type scope struct {
	rules   *order.Checker
	calls   calls
	tokens  map[callKey]*call // those that ask for progress, by its token
	last    [3]moment         // the last message of each direction
	begun   beginning
	since   uint64 // the first message, of a session whose beginning is not here
	deleted moment // where its client ended the session
	refused bool   // HTTP refused what named the session, each time
	served  bool   // HTTP did not, once
	kept    bool   // it belongs to a session, and not to one exchange
}

// beginning says whether the recording has the beginning of a session.
type beginning uint8

const (
	unseen beginning = iota // no message so far tells
	whole
	middle // what came first has something before it
)

// begins notes whether a message is one that a session may begin with: a handshake, a
// probe, or a request that needs no handshake. Pings and logs may come before it.
func (s *scope) begins(e store.Event, m *transport.Message) {
	switch client := e.Dir == transport.ClientToServer; {
	case client && m.Kind() == transport.Request && m.Method == mcp.MethodInitialize:
		s.begun = whole
	case s.begun != unseen || m.Method == mcp.MethodPing || m.Kind() == transport.Invalid:
	case client && m.Kind() == transport.Request && (m.Method == mcp.MethodDiscover || versionOf(m) >= mcp.Revision2026_07_28):
		s.begun = whole
	case client, m.Kind() == transport.Response, m.Method == mcp.NotificationProgress:
		s.begun, s.since = middle, e.Seq
	}
}

// headless says once for a recording that it begins in the middle.
func (f *Fold) headless(s *scope) {
	if f.cutIn {
		return
	}
	f.cutIn = true
	f.finds(noBeginning, transport.NoDirection, s.rules.Revision(), []uint64{s.since},
		"the recording begins in the middle of a session (#%d), or its client made no handshake: what may rest on something before is not judged", s.since)
}

func newScope() *scope {
	return &scope{rules: order.New(""), calls: calls{}, tokens: map[callKey]*call{}}
}

// scopes finds the scope of a frame. On a pipe there is one. Over HTTP each session has
// one, by its Mcp-Session-Id; where the server gave no session, several clients may be in
// one recording, and only an exchange is sure to be of one.
type scopes struct {
	session   *scope             // of a pipe, or of the session that began last
	sessions  map[string]*scope  // by Mcp-Session-Id
	kept      []*scope           // of sessions, in their order
	exchanges map[uint64]*scope  // that are open and have one of their own
	inSession map[uint64]*scope  // of open exchanges whose request names a session
	asked     map[uint64][]*call // by open exchange
	routing   map[uint64]routing // what the headers of a request said whose body is not here yet
	left      int                // exchanges that were left when some were last let go
	events    bool               // HTTP+SSE: answers come on another exchange
	answers   uint64             // that exchange; 0: its beginning is not here
}

func newScopes() scopes {
	pipe := newScope()
	pipe.kept = true
	return scopes{
		session: pipe, sessions: map[string]*scope{}, kept: []*scope{pipe}, exchanges: map[uint64]*scope{},
		inSession: map[uint64]*scope{}, asked: map[uint64][]*call{}, routing: map[uint64]routing{},
	}
}

// of returns a frame's scope; nil where none is sure.
func (s *scopes) of(e store.Event, p order.Parsed) *scope {
	if e.Stream == 0 || s.events {
		return s.session
	}
	if own := s.inSession[e.Stream]; own != nil {
		return own
	}
	if own := s.exchanges[e.Stream]; own != nil || e.Dir != transport.ClientToServer {
		return own
	}
	for i := range p.Messages {
		if p.Messages[i].Kind() == transport.Request {
			own := newScope()
			s.exchanges[e.Stream] = own
			s.sweep()
			return own
		}
	}
	return nil
}

// named returns the scope of a session that a request names. The first such session may
// be one whose beginning was recorded without its id.
func (s *scopes) named(id string) *scope {
	if known := s.sessions[id]; known != nil {
		return known
	}
	if len(s.sessions) == 0 {
		s.sessions[id] = s.session
		return s.session
	}
	s.keep(id, newScope())
	return s.sessions[id]
}

// keep makes a scope the scope of a session.
func (s *scopes) keep(id string, own *scope) {
	own.kept = true
	s.kept = append(s.kept, own)
	s.sessions[id] = own
}

// sweep lets go of exchanges that are answered, when there are many whose end was not
// recorded.
func (s *scopes) sweep() {
	if len(s.exchanges) < 2*max(1024, s.left) {
		return
	}
	maps.DeleteFunc(s.exchanges, func(stream uint64, own *scope) bool {
		over := len(own.calls) == 0 && !own.kept
		if over {
			delete(s.asked, stream)
		}
		return over
	})
	s.left = len(s.exchanges)
}

// unordered reports whether a violation is one of order between a frame and one of
// the same sender that went on another HTTP stream: a response goes on the stream of
// its request, and what belongs to it may go elsewhere; each frame of a client goes
// on a stream of its own.
func (s *scopes) unordered(e store.Event, v order.Violation) bool {
	switch {
	case e.Stream == 0 || !v.OneSender():
		return false
	case e.Dir == transport.ClientToServer:
		return true
	}
	return !s.events && len(s.asked[e.Stream]) == 0
}

// http follows what the transport says around frames.
func (f *Fold) http(e store.Event) error {
	info, err := store.DecodePayload[store.HTTPInfo](e)
	if err != nil {
		return err
	}
	s := &f.scopes
	switch info.What {
	case store.HTTPRequest:
		x := f.asks(e, info)
		if x.session != "" {
			in := s.named(x.session)
			if s.inSession[e.Stream] = in; x.method == "DELETE" {
				in.deleted = moment{e.Seq, e.At}
			}
		}
		s.routing[e.Stream] = info.Header
		if id := headerOf(info.Header, mcp.HeaderLastEventID); id != "" {
			f.resume(e, x, id)
		}
	case store.HTTPResponse:
		f.headed(e, info)
		delete(s.routing, e.Stream)
		if own, id := s.exchanges[e.Stream], headerOf(info.Header, mcp.HeaderSessionID); own != nil && id != "" && !own.kept {
			before := s.sessions[id]
			s.keep(id, own) // it holds an initialize: here begins the session
			s.session = own
			if before != nil {
				f.leaves(before)
			}
		}
		if in := s.inSession[e.Stream]; in != nil {
			in.served = in.served || info.Status < 300
			in.refused = !in.served
		}
		switch {
		case info.Status >= 300:
			f.refuses(e, info.Status)
		case info.Status == 202 || info.Status == 204: // no body follows, and no end
			delete(s.inSession, e.Stream)
		}
	case store.HTTPEvent:
		f.serverSent(e, info.SSE)
	case store.HTTPEnd, store.HTTPAbort, store.HTTPBroken, store.HTTPNone, store.HTTPLeft:
		f.exchangeEnds(e, info)
	}
	return nil
}

// serverSent notes an event that was sent before: a stream that was cut is taken up
// again behind the last id that the client has.
func (f *Fold) serverSent(e store.Event, sse *store.SSEInfo) {
	x := f.responds(e, "an event")
	if sse == nil {
		return
	}
	x.again = x.again || sse.ID != "" || sse.Retry != ""
	if sse.Event == "endpoint" {
		f.scopes.events, f.scopes.answers, x.answers = true, e.Stream, true
	}
	if again := sse.ID != "" && f.events(e, x, sse.ID); again && sse.Frame == 0 {
		f.skip[e.Stream] = true
	} else {
		delete(f.skip, e.Stream)
	}
}

// refuses drops the calls of an exchange that was answered by its status alone.
func (f *Fold) refuses(e store.Event, status int) {
	f.notTaken(e.Stream, fmt.Sprintf("HTTP status %d (#%d) refused it", status, e.Seq))
	for _, c := range f.scopes.asked[e.Stream] {
		if slices.Contains(c.in.calls[callKey{c.dir, c.id}], c) {
			c.drop()
			f.tallies.add(c, e.At-c.at, 0, true)
			f.came.add(c, fmt.Sprintf("HTTP status %d", status), status == http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusMethodNotAllowed)
		}
	}
}

// notTaken undoes what the client said on an exchange that HTTP refused: the server never
// took it, and the client may say it again. Where the exchange broke, the refusal is "": the
// client may say it again all the same, but whether the server took it is not known.
func (f *Fold) notTaken(stream uint64, refusal string) {
	x := f.courses.begin(stream)
	for _, undo := range x.undo {
		undo(refusal)
	}
	x.undo = nil
}

// exchangeEnds lets go of an exchange. What its own calls were to be answered with
// can no longer come; with the events of HTTP+SSE, no answer to any call.
func (f *Fold) exchangeEnds(e store.Event, info store.HTTPInfo) {
	s := &f.scopes
	switch {
	case !s.events || s.answers != e.Stream && info.What != store.HTTPEnd:
		again := info.What == store.HTTPEnd && f.courses.begin(e.Stream).again
		for _, c := range s.asked[e.Stream] {
			c.ends(info, e)
			c.again = again
		}
	case s.answers == e.Stream:
		for _, c := range s.session.calls.all() {
			c.ends(info, e)
		}
	}
	x := f.courses.begin(e.Stream)
	if x.answered == 0 && (info.What == store.HTTPNone || info.What == store.HTTPBroken) {
		f.notTaken(e.Stream, "")
	}
	x.undo = nil
	f.leavesPost(e, x, info)
	x.ended, x.hungUp, x.cut = e.Seq, info.What == store.HTTPAbort, info.What == store.HTTPAbort || info.What == store.HTTPLeft
	delete(s.inSession, e.Stream)
	delete(s.asked, e.Stream)
	delete(s.routing, e.Stream)
	delete(f.skip, e.Stream)
	own := s.exchanges[e.Stream]
	delete(s.exchanges, e.Stream)
	if own != nil && !own.kept {
		f.leaves(own)
	}
}

// ends notes that no answer to a call can come any more, unless an end before said so.
func (c *call) ends(info store.HTTPInfo, e store.Event) {
	if c.ending == "" {
		c.ending, c.ended = httpEnding(info, e.Seq), moment{e.Seq, e.At}
		c.hungUp, c.left = info.What == store.HTTPAbort, info.What == store.HTTPLeft
	}
}

// httpEnding says how an exchange ended.
func httpEnding(info store.HTTPInfo, seq uint64) string {
	switch info.What {
	case store.HTTPAbort:
		return fmt.Sprintf("the client hung up (#%d)", seq)
	case store.HTTPBroken:
		return fmt.Sprintf("the connection to the server broke (#%d: %s)", seq, clip(info.Error))
	case store.HTTPLeft:
		return fmt.Sprintf("the recorder ended before the exchange did (#%d)", seq)
	case store.HTTPNone:
		return fmt.Sprintf("no HTTP response came (#%d: %s)", seq, clip(info.Error))
	}
	return fmt.Sprintf("the server ended the HTTP response without it (#%d)", seq)
}

// recent is a map that keeps the latest of its entries: at least most, at most twice
// that many, however long a session is.
type recent[K comparable, V any] struct {
	most           int
	latest, before map[K]V
}

func newRecent[K comparable, V any](most int) recent[K, V] {
	return recent[K, V]{most: most, latest: map[K]V{}}
}

func (r *recent[K, V]) get(key K) (V, bool) {
	v, ok := r.latest[key]
	if !ok {
		v, ok = r.before[key]
	}
	return v, ok
}

func (r *recent[K, V]) put(key K, v V) {
	if len(r.latest) >= r.most {
		r.latest, r.before = map[K]V{}, r.latest
	}
	r.latest[key] = v
}
