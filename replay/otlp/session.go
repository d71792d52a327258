package otlp

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// session folds a session into spans.
type session struct {
	version string  // of the program that writes
	ended   []*span // and not written

	header   store.Header
	trace    traceID
	root     *span // the session's own, in the last batch
	last     time.Duration
	revision string
	mcp      string // the id of MCP's own session
	server   string // the server's name
	count    uint64 // of the spans so far
	open     map[*timeline.Call]*call
	streams  map[uint64]*stream
}

// stream is an HTTP exchange.
type stream struct {
	parent  *remote  // of its request's header
	call    *call    // of the client, while it is open
	answers []answer // of the client, which HTTP may still refuse
}

// answer is a response, and the call that it answers.
type answer struct {
	call    *call
	message transport.Message
	seq     uint64
	at      time.Duration
}

func newSession(version string) *session {
	return &session{version: version, ended: []*span{}, root: &span{}, open: map[*timeline.Call]*call{}, streams: map[uint64]*stream{}}
}

// service returns the name of the service that the spans are of.
func (s *session) service() string { return cmp.Or(s.header.Label, s.server, "mcp") }

func (s *session) take(step timeline.Step) {
	s.last = step.At
	switch step.Kind {
	case store.Opened:
		h, err := store.ParseHeader(step.Payload)
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
		s.exchange(step)
	case store.Frame:
		for i := range step.Messages { // noise has none
			switch m := &step.Messages[i]; m.Kind {
			case transport.Request:
				s.request(step, m)
			case transport.Response:
				s.response(step, m)
			case transport.Notification:
				s.notification(step, m)
			}
		}
		for _, refused := range step.Refused { // before the body came
			s.open[refused].status = step.Exchange.Status
			s.open[refused].refused = step.At
		}
	case store.Lost:
		if info, err := store.DecodePayload[store.LostInfo](step.Event); err == nil {
			if a := s.note(s.root, step.At, "lost"); a != nil {
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
func (s *session) exchange(step timeline.Step) {
	info := step.HTTP
	if info == nil {
		return
	}
	h := http.Header(info.Header)
	if id := h.Get(mcp.HeaderSessionID); id != "" {
		s.mcp = id
	}
	for _, refused := range step.Refused {
		c := s.open[refused]
		c.status = info.Status
		c.refused = step.At
	}
	for _, refused := range step.Over {
		s.endRefused(s.open[refused])
	}
	switch info.What {
	case store.HTTPResponse:
		s.endTaken(s.streams[step.Stream], step.Undone)
	case store.HTTPRequest:
		parent := parseRemote(h.Get("Traceparent"), strings.Join(h.Values("Tracestate"), ","))
		s.streams[step.Stream] = &stream{parent: parent}
	case store.HTTPEnd, store.HTTPAbort, store.HTTPBroken, store.HTTPNone, store.HTTPLeft:
		s.endTaken(s.streams[step.Stream], nil)
		delete(s.streams, step.Stream)
	}
}

// end ends the session's span, and the spans of calls without an answer.
func (s *session) end() {
	for _, number := range slices.Sorted(maps.Keys(s.streams)) {
		s.endTaken(s.streams[number], nil)
	}
	for _, c := range slices.SortedFunc(maps.Values(s.open), func(a, b *call) int { return cmp.Compare(a.number, b.number) }) {
		if c.status != 0 {
			s.endRefused(c)
			continue
		}
		s.note(c.span, s.last, "no answer")
		if c.Method != mcp.MethodListen { // a subscription stays open, and its answer may never come
			c.span.Attributes.set("error.type", stringOf("no_answer"))
			c.span.Status = status{"no answer", statusError}
		}
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
	s.ended = append(s.ended, s.root)
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

// call is a request whose span has not ended.
type call struct {
	*timeline.Call
	number uint64 // of the span in the session; the session's own is 1
	span   *span

	status  int // the HTTP status that refused the request; 0: none
	refused time.Duration
}

func (s *session) request(step timeline.Step, message *timeline.Message) {
	s.count++
	c := &call{Call: message.Call, number: s.count}
	c.span = &span{
		TraceID: s.trace, ParentSpanID: &s.root.SpanID, Kind: kindClient, SpanID: s.spanID(s.count), Start: s.time(step.At),
	}
	s.open[c.Call] = c
	meta := transport.Member(message.Params, mcp.MemberMeta)
	parent := parseRemote(transport.MemberText(meta, "traceparent"), transport.MemberText(meta, "tracestate"))
	if on := s.streams[step.Stream]; on != nil {
		if on.call != nil && step.Dir == transport.ServerToClient {
			c.span.TraceID = on.call.span.TraceID
			c.span.ParentSpanID = &on.call.span.SpanID
		}
		if step.Dir == transport.ClientToServer {
			on.call = c
			if parent == nil {
				parent = on.parent
			}
		}
	}
	if parent != nil {
		c.span.TraceID = parent.trace
		c.span.ParentSpanID = &parent.span
		c.span.Flags = remoteParent | uint32(parent.flags)
		c.span.TraceState = parent.state
		c.span.Links = []link{{s.trace, s.root.SpanID}}
	}
	a := &c.span.Attributes
	a.set("mcp.method.name", stringOf(message.Method))
	name := message.Method
	target, hasTarget := timeline.Target(message.Message)
	switch {
	case !hasTarget:
	case message.Method == mcp.MethodCallTool:
		a.set("gen_ai.operation.name", stringOf("execute_tool"))
		a.set("gen_ai.tool.name", stringOf(target))
		name += " " + target
	case message.Method == mcp.MethodGetPrompt:
		a.set("gen_ai.prompt.name", stringOf(target))
		name += " " + target
	default:
		a.set("mcp.resource.uri", stringOf(target))
	}
	c.span.Name = strings.ToValidUTF8(name, "\ufffd")
	if id := string(message.ID); id != "null" {
		if id[0] == '"' {
			id = text(message.ID)
		}
		a.set("jsonrpc.request.id", stringOf(id))
	}
	a.set("mcprec.request", intOf(step.Seq))
	if v := transport.MemberText(meta, mcp.MetaProtocolVersion); v != "" {
		s.revision = v
	}
}

// remoteParent is two flags of a span: has_is_remote and is_remote, of the parent.
const remoteParent = 0x300

func (s *session) response(step timeline.Step, message *timeline.Message) {
	c := s.open[message.Call]
	if c == nil || message.Role != timeline.Answers {
		s.note(s.root, step.At, "response to no request")
		return
	}
	said := answer{c, message.Message, step.Seq, step.At}
	if x := step.Exchange; x != nil && x.Head.Seq == 0 && step.Dir == transport.ClientToServer {
		if on := s.streams[step.Stream]; on != nil {
			on.answers = append(on.answers, said)
			return
		}
	}
	s.endAnswered(said)
}

// endAnswered ends a call with its answer.
func (s *session) endAnswered(said answer) {
	c := said.call
	if c.Method == mcp.MethodInitialize {
		if v := transport.MemberText(said.message.Result, mcp.MemberProtocolVersion); v != "" {
			s.revision = v
		}
		s.server = transport.MemberText(said.message.Result, mcp.MemberServerInfo, "name")
	}
	a := &c.span.Attributes
	a.set("mcprec.response", intOf(said.seq))
	switch {
	case said.message.Error != nil:
		code := string(transport.Member(said.message.Error, "code"))
		if code == "" {
			code = "_OTHER"
		}
		a.set("error.type", stringOf(code))
		a.set("rpc.response.status_code", stringOf(code))
		c.span.Status = status{transport.MemberText(said.message.Error, "message"), statusError}
	case string(transport.Member(said.message.Result, mcp.MemberIsError)) == "true":
		a.set("error.type", stringOf("tool_error"))
		c.span.Status.Code = statusError
	}
	c.span.End = s.time(said.at)
	s.finish(c)
}

// endTaken ends the calls whose answers in an exchange HTTP has not refused.
func (s *session) endTaken(on *stream, refused []*timeline.Call) {
	if on == nil {
		return
	}
	for _, said := range on.answers {
		if !slices.Contains(refused, said.call.Call) {
			s.endAnswered(said)
		}
	}
	on.answers = nil
}

// endRefused ends a call whose only answer is an HTTP status.
func (s *session) endRefused(call *call) {
	code := strconv.Itoa(call.status)
	call.span.Attributes.set("error.type", stringOf(code))
	call.span.Attributes.set("http.response.status_code", intOf(call.status))
	call.span.Status = status{"HTTP " + code, statusError}
	call.span.End = s.time(call.refused)
	s.finish(call)
}

// finish adds the call's span to the batch.
func (s *session) finish(call *call) {
	delete(s.open, call.Call)
	if on := s.streams[call.Stream]; on != nil && on.call == call {
		on.call = nil
	}
	s.common(&call.span.Attributes)
	s.ended = append(s.ended, call.span)
}

// common sets the attributes that every span has.
func (s *session) common(attributes *attributes) {
	if s.revision != "" {
		attributes.set("mcp.protocol.version", stringOf(s.revision))
	}
	if s.mcp != "" {
		attributes.set("mcp.session.id", stringOf(s.mcp))
	}
	switch s.header.Transport {
	case "stdio":
		attributes.set("network.transport", stringOf("pipe"))
	case "http":
		attributes.set("network.transport", stringOf("tcp"))
		attributes.set("network.protocol.name", stringOf("http"))
	}
	u, err := url.Parse(s.header.URL)
	if err != nil || u.Hostname() == "" {
		return
	}
	attributes.set("server.address", stringOf(u.Hostname()))
	port := map[string]int64{"http": 80, "https": 443}[u.Scheme]
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		port = int64(n)
	}
	if port != 0 {
		attributes.set("server.port", intOf(port))
	}
}

// notification adds an event to the span of the call that it concerns, else to the session's.
func (s *session) notification(step timeline.Step, message *timeline.Message) {
	c := s.open[message.Call]
	if on := s.streams[step.Stream]; on != nil && step.Dir == transport.ServerToClient && message.Method == mcp.NotificationMessage {
		c = on.call
	}
	span := s.root
	if c != nil {
		span = c.span
	}
	a := s.note(span, step.At, message.Method)
	if a == nil {
		return
	}
	a.set("mcprec.event", intOf(step.Seq))
	for _, key := range eventParams[message.Method] {
		raw := transport.Member(message.Params, key)
		name := strings.TrimPrefix(message.Method, "notifications/") + "." + key
		switch number, err := strconv.ParseFloat(string(raw), 64); {
		case raw == nil:
		case raw[0] == '"':
			a.set(name, stringOf(clip(text(raw))))
		case err == nil:
			a.set(name, value{Double: &number})
		default:
			a.set(name, stringOf(clip(string(raw))))
		}
	}
}

// maxText is how many bytes of a text of a notification an event of a span has: a span
// stays in memory until its call has ended.
const maxText = 2048

func clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// eventParams are the params of notifications that their events have as attributes.
var eventParams = map[string][]string{
	mcp.NotificationProgress:        {"progress", "total", "message"},
	mcp.NotificationMessage:         {"level", "logger", "data"},
	mcp.NotificationCancelled:       {"reason"},
	mcp.NotificationResourceUpdated: {"uri"},
}

// remote is a span of a peer, as the W3C's Trace Context names it.
type remote struct {
	trace traceID
	span  spanID
	flags byte
	state string
}

// parseRemote reads a traceparent; nil if the text is not valid.
func parseRemote(parent, state string) *remote {
	parts := strings.Split(parent, "-")
	if len(parts) < 4 || parts[0] == "ff" || parts[0] == "00" && len(parts) > 4 {
		return nil
	}
	r := remote{state: state}
	var version, flags [1]byte
	for i, into := range [][]byte{version[:], r.trace[:], r.span[:], flags[:]} {
		if len(parts[i]) != 2*len(into) || strings.ToLower(parts[i]) != parts[i] {
			return nil
		}
		if _, err := hex.Decode(into, []byte(parts[i])); err != nil {
			return nil
		}
	}
	if r.trace == (traceID{}) || r.span == (spanID{}) {
		return nil
	}
	r.flags = flags[0]
	return &r
}

// text returns the text of a JSON string, "" of any other value.
func text(raw json.RawMessage) string {
	s, _ := transport.Text(raw)
	return s
}
