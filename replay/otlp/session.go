package otlp

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// session is a session while it is folded into spans.
type session struct {
	version string
	batch   traces // the spans that have ended and are not written

	header   store.Header
	trace    traceID
	root     *span // not of the batch before the end
	last     time.Duration
	revision string
	mcp      string // the id of MCP's own session
	server   string // its name
	calls    map[callKey][]*call
	open     map[uint64]*call // all of them, by their number
	count    uint64           // of the spans that began
	tokens   map[callKey]*call
	streams  map[uint64]*stream
}

// callKey is an id or a token of the requests of one direction.
type callKey struct {
	dir transport.Direction
	id  mcp.Key
}

// stream is an HTTP exchange.
type stream struct {
	parent *remote // of its request's header
	call   *call   // of the client, while it is open
	asked  []*call // all of both ends
}

func newSession(version string) *session {
	s := &session{version: version, root: &span{}, calls: map[callKey][]*call{}, open: map[uint64]*call{},
		tokens: map[callKey]*call{}, streams: map[uint64]*stream{}}
	s.begin()
	return s
}

// begin begins a batch.
func (s *session) begin() {
	s.batch = traces{}
	scope := &s.batch.ResourceSpans[0].ScopeSpans[0]
	scope.Scope.Name, scope.Scope.Version = "github.com/mcprec/mcprec", s.version
	scope.Spans = []*span{}
}

// spans are those of the batch.
func (s *session) spans() *[]*span { return &s.batch.ResourceSpans[0].ScopeSpans[0].Spans }

// describe says whose spans they are.
func (s *session) describe(resource *attributes) {
	name := "mcp"
	for _, known := range []string{s.header.Label, s.server} {
		if known != "" {
			name = known
			break
		}
	}
	resource.set("service.name", stringOf(name))
}

func (s *session) apply(e store.Event) {
	s.last = e.At
	switch e.Kind {
	case store.Opened:
		s.opened(e)
	case store.HTTP:
		s.exchange(e)
	case store.Frame:
		messages, _ := e.AsFrame().Messages() // noise has none
		for _, m := range messages {
			s.message(e, m)
		}
	case store.Lost:
		if info, err := store.DecodePayload[store.LostInfo](e); err == nil {
			if a := s.note(s.root, e.At, "lost"); a != nil {
				a.set("mcprec.lost", intOf(info.Frames))
				a.set("mcprec.reason", stringOf(info.Reason))
			}
		}
	}
}

// opened begins the session's span.
func (s *session) opened(e store.Event) {
	h, err := store.ParseHeader(e.Payload)
	if err != nil {
		return // a store has none such
	}
	s.header = h
	if id, err := h.ID.Bytes(); err == nil {
		s.trace = id
	}
	s.count = 1
	s.root = &span{TraceID: s.trace, SpanID: s.spanID(s.count), Name: "mcp session", Kind: kindInternal, Start: s.time(0)}
}

// spanID is the id of the span with a number.
func (s *session) spanID(number uint64) (id spanID) {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(append([]byte("mcprec span "), s.trace[:]...), number))
	copy(id[:], sum[:])
	return id
}

// time is the wall time of an offset; where the start is not known, since 1970.
func (s *session) time(at time.Duration) uint64 {
	if s.header.Start.Year() < 1970 {
		return uint64(at)
	}
	return uint64(s.header.Start.Add(at).UnixNano())
}

// exchange takes what an HTTP event says of the session.
func (s *session) exchange(e store.Event) {
	info, err := store.DecodePayload[store.HTTPInfo](e)
	if err != nil {
		return
	}
	h := http.Header(info.Header)
	if id := h.Get("Mcp-Session-Id"); id != "" {
		s.mcp = id
	}
	switch info.What {
	case store.HTTPRequest:
		s.streams[e.Stream] = &stream{parent: remoteIn(h)}
	case store.HTTPResponse:
		if info.Status >= http.StatusMultipleChoices {
			s.refuse(e, info.Status)
		}
	case store.HTTPEnd, store.HTTPAbort, store.HTTPBroken, store.HTTPNone, store.HTTPLeft:
		s.leave(e.Stream)
	}
}

// leave forgets an exchange, and ends the calls that its status has refused.
func (s *session) leave(number uint64) {
	if on := s.streams[number]; on != nil {
		for _, c := range on.asked {
			if !c.over && c.status != 0 {
				s.endRefused(c)
			}
		}
	}
	delete(s.streams, number)
}

// end ends the session's span, and those of calls without an answer.
func (s *session) end() {
	for _, number := range slices.Sorted(maps.Keys(s.open)) {
		s.unanswered(s.open[number])
	}
	a := &s.root.Attributes
	a.set("mcprec.session.id", stringOf(string(s.header.ID)))
	s.common(a)
	if len(s.header.Command) > 0 {
		var list array
		for _, arg := range s.header.Command {
			list.Values = append(list.Values, stringOf(arg))
		}
		a.set("process.command_args", value{Array: &list})
	}
	s.root.End = s.time(s.last)
	*s.spans() = append(*s.spans(), s.root)
}

// eventLimit is how many events a span keeps.
const eventLimit = 1000

// note adds an event to a span, and returns its attributes; nil if there is no room.
func (s *session) note(of *span, at time.Duration, name string) *attributes {
	if len(of.Events) >= eventLimit {
		of.DroppedEvents++
		return nil
	}
	of.Events = append(of.Events, event{Time: s.time(at), Name: strings.ToValidUTF8(name, "\ufffd")})
	return &of.Events[len(of.Events)-1].Attributes
}
