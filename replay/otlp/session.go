package otlp

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// session folds a session into spans.
type session struct {
	version string // of the program that writes
	batch   traces // the spans that have ended and are not written

	header   store.Header
	trace    traceID
	root     *span // the session's own, in the last batch
	last     time.Duration
	revision string
	mcp      string           // the id of MCP's own session
	server   string           // the server's name
	count    uint64           // of the spans so far
	open     map[uint64]*call // by number
	requests timeline.Index[mcp.Key, *call]
	streams  map[uint64]*stream
}

// stream is an HTTP exchange.
type stream struct {
	parent  *remote // of its request's header
	call    *call   // of the client, while it is open
	refused []*call // by the response's status; a message may still answer them
}

// begin begins a batch.
func (s *session) begin() {
	s.batch = traces{}
	scope := &s.batch.ResourceSpans[0].ScopeSpans[0]
	scope.Scope.Name = "github.com/mcprec/mcprec"
	scope.Scope.Version = s.version
	scope.Spans = []*span{}
}

// spans returns the spans of the batch.
func (s *session) spans() *[]*span { return &s.batch.ResourceSpans[0].ScopeSpans[0].Spans }

func (s *session) apply(e store.Event) {
	s.last = e.At
	switch e.Kind {
	case store.Opened:
		h, err := store.ParseHeader(e.Payload)
		if err != nil {
			return // a store takes no such event
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

// spanID returns the id of the span with a number.
func (s *session) spanID(number uint64) (id spanID) {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(append([]byte("mcprec span "), s.trace[:]...), number))
	copy(id[:], sum[:])
	return id
}

// time returns the wall time of an offset, in nanoseconds since 1970; of an unknown start the
// offset.
func (s *session) time(at time.Duration) uint64 {
	if s.header.Start.Year() < 1970 {
		return uint64(at)
	}
	return uint64(s.header.Start.Add(at).UnixNano())
}

// exchange takes an HTTP event.
func (s *session) exchange(e store.Event) {
	info, err := store.DecodePayload[store.HTTPInfo](e)
	if err != nil {
		return
	}
	h := http.Header(info.Header)
	if id := h.Get(mcp.HeaderSessionID); id != "" {
		s.mcp = id
	}
	refused, status := s.requests.Follow(e)
	slices.SortFunc(refused, func(a, b *call) int { return cmp.Compare(a.number, b.number) })
	for _, c := range refused {
		c.status = status
		c.refused = e.At
	}
	on := s.streams[e.Stream]
	switch {
	case info.What == store.HTTPRequest:
		parent := parseRemote(h.Get("Traceparent"), strings.Join(h.Values("Tracestate"), ","))
		s.streams[e.Stream] = &stream{parent: parent}
	case on == nil:
	case info.What == store.HTTPResponse:
		on.refused = refused
	case info.What == store.HTTPEnd, info.What == store.HTTPAbort, info.What == store.HTTPBroken,
		info.What == store.HTTPNone, info.What == store.HTTPLeft:
		for _, c := range on.refused {
			if !c.over {
				s.endRefused(c)
			}
		}
		delete(s.streams, e.Stream)
	}
}

// end ends the session's span, and the spans of calls without an answer.
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

// note adds an event to a span, and returns the event's attributes; nil if the span already
// has 1000 events.
func (s *session) note(of *span, at time.Duration, name string) *attributes {
	if len(of.Events) >= 1000 {
		of.DroppedEvents++
		return nil
	}
	of.Events = append(of.Events, event{Time: s.time(at), Name: strings.ToValidUTF8(name, "\ufffd")})
	return &of.Events[len(of.Events)-1].Attributes
}
