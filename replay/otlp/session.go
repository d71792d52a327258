package otlp

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// session is a session while it is folded into spans.
type session struct {
	version string
	batch   ptrace.Traces
	spans   ptrace.SpanSlice // of the batch

	header   store.Header
	trace    pcommon.TraceID
	root     ptrace.Span // not of the batch before the end
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
	s := &session{version: version, root: ptrace.NewSpan(), calls: map[callKey][]*call{}, open: map[uint64]*call{},
		tokens: map[callKey]*call{}, streams: map[uint64]*stream{}}
	s.begin()
	return s
}

// begin begins a batch.
func (s *session) begin() {
	s.batch = ptrace.NewTraces()
	scope := s.batch.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	scope.Scope().SetName("github.com/mcprec/mcprec")
	scope.Scope().SetVersion(s.version)
	s.spans = scope.Spans()
}

// describe says whose spans they are.
func (s *session) describe(resource pcommon.Map) {
	name := "mcp"
	for _, known := range []string{s.header.Label, s.server} {
		if known != "" {
			name = known
			break
		}
	}
	put(resource, "service.name", name)
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
			if ev, ok := s.note(s.root, e.At, "lost"); ok {
				ev.PutInt("mcprec.lost", int64(info.Frames))
				put(ev, "mcprec.reason", info.Reason)
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
	s.root.SetTraceID(s.trace)
	s.count = 1
	s.root.SetSpanID(s.spanID(s.count))
	s.root.SetName("mcp session")
	s.root.SetKind(ptrace.SpanKindInternal)
	s.root.SetStartTimestamp(s.time(0))
}

// spanID is the id of the span with a number.
func (s *session) spanID(number uint64) (id pcommon.SpanID) {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(append([]byte("mcprec span "), s.trace[:]...), number))
	copy(id[:], sum[:])
	return id
}

// time is the wall time of an offset; where the start is not known, since 1970.
func (s *session) time(at time.Duration) pcommon.Timestamp {
	if s.header.Start.Year() < 1970 {
		return pcommon.Timestamp(at)
	}
	return pcommon.NewTimestampFromTime(s.header.Start.Add(at))
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
	a := s.root.Attributes()
	a.PutStr("mcprec.session.id", string(s.header.ID))
	s.common(a)
	if len(s.header.Command) > 0 {
		list := a.PutEmptySlice("process.command_args")
		for _, arg := range s.header.Command {
			list.AppendEmpty().SetStr(strings.ToValidUTF8(arg, "\ufffd"))
		}
	}
	s.root.SetEndTimestamp(s.time(s.last))
	s.root.MoveTo(s.spans.AppendEmpty())
}

// eventLimit is how many events a span keeps.
const eventLimit = 1000

// note adds an event to a span, if it has room.
func (s *session) note(span ptrace.Span, at time.Duration, name string) (pcommon.Map, bool) {
	if span.Events().Len() >= eventLimit {
		span.SetDroppedEventsCount(span.DroppedEventsCount() + 1)
		return pcommon.Map{}, false
	}
	ev := span.Events().AppendEmpty()
	ev.SetTimestamp(s.time(at))
	ev.SetName(name)
	return ev.Attributes(), true
}

// put sets an attribute: all text of the format is UTF-8.
func put(a pcommon.Map, key, value string) {
	a.PutStr(key, strings.ToValidUTF8(value, "\ufffd"))
}
