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

// begin begins a batch.
func (s *session) begin() {
	s.batch = traces{}
	scope := &s.batch.ResourceSpans[0].ScopeSpans[0]
	scope.Scope.Name, scope.Scope.Version = "github.com/mcprec/mcprec", s.version
	scope.Spans = []*span{}
}

// spans are those of the batch.
func (s *session) spans() *[]*span { return &s.batch.ResourceSpans[0].ScopeSpans[0].Spans }

func (s *session) apply(e store.Event) {
	s.last = e.At
	switch e.Kind {
	case store.Opened:
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
	case store.HTTP:
		s.exchange(e)
	case store.Frame:
		messages, _ := e.AsFrame().Messages() // noise has none
		for _, m := range messages {
			switch m.Kind() {
			case transport.Request:
				s.request(e, m)
			case transport.Response:
				s.response(e, m)
			case transport.Notification:
				s.notification(e, m)
			}
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
	if id := h.Get(mcp.HeaderSessionID); id != "" {
		s.mcp = id
	}
	var asked []*call
	if on := s.streams[e.Stream]; on != nil {
		asked = on.asked
	}
	switch info.What {
	case store.HTTPRequest:
		parent := parseRemote(h.Get("Traceparent"), strings.Join(h.Values("Tracestate"), ","))
		s.streams[e.Stream] = &stream{parent: parent}
	case store.HTTPResponse:
		if info.Status < http.StatusMultipleChoices {
			return
		}
		for _, c := range asked { // a message may still come, so the calls end with the exchange
			c.status, c.refused = info.Status, e.At
		}
	case store.HTTPEnd, store.HTTPAbort, store.HTTPBroken, store.HTTPNone, store.HTTPLeft:
		for _, c := range asked {
			if !c.over && c.status != 0 {
				s.endRefused(c)
			}
		}
		delete(s.streams, e.Stream)
	}
}

// end ends the session's span, and those of calls without an answer.
func (s *session) end() {
	for _, number := range slices.Sorted(maps.Keys(s.open)) {
		c := s.open[number]
		if c.status != 0 {
			s.endRefused(c)
			continue
		}
		s.note(c.span, s.last, "no answer")
		c.span.End = s.time(s.last)
		s.finish(c)
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

// note adds an event to a span, and returns its attributes; nil if the span has 1000.
func (s *session) note(of *span, at time.Duration, name string) *attributes {
	if len(of.Events) >= 1000 {
		of.DroppedEvents++
		return nil
	}
	of.Events = append(of.Events, event{Time: s.time(at), Name: strings.ToValidUTF8(name, "\ufffd")})
	return &of.Events[len(of.Events)-1].Attributes
}
