package otlp

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// call is a request without an answer so far.
type call struct {
	number uint64 // of the session's spans, whose first is its own
	seq    uint64 // of the request
	span   ptrace.Span
	method string
	key    callKey
	token  callKey // zero: none
	stream uint64
	over   bool

	status  int // of HTTP, which has refused it; 0: none
	refused time.Duration
}

func (s *session) message(e store.Event, m transport.Message) {
	switch m.Kind() {
	case transport.Request:
		s.request(e, m)
	case transport.Response:
		s.response(e, m)
	case transport.Notification:
		s.notification(e, m)
	}
}

func (s *session) request(e store.Event, m transport.Message) {
	s.count++
	c := &call{number: s.count, seq: e.Seq, span: ptrace.NewSpan(), method: m.Method, key: callKey{e.Dir, mcp.KeyOf(m.ID)}, stream: e.Stream}
	s.calls[c.key] = append(s.calls[c.key], c)
	s.open[c.number] = c
	if on := s.streams[e.Stream]; on != nil {
		on.asked = append(on.asked, c)
	}
	if token := m.ProgressToken(); token != nil {
		c.token = callKey{e.Dir, mcp.KeyOf(token)}
		s.tokens[c.token] = c
	}
	c.span.SetKind(ptrace.SpanKindClient)
	c.span.SetSpanID(s.spanID(c.number))
	c.span.SetStartTimestamp(s.time(e.At))
	s.place(c, e, m)
	c.describe(m)
	if v := text(transport.Member(m.Params, "_meta", "io.modelcontextprotocol/protocolVersion")); v != "" {
		s.revision = v
	}
}

// describe says what a request asks for.
func (c *call) describe(m transport.Message) {
	a := c.span.Attributes()
	put(a, "mcp.method.name", m.Method)
	name := m.Method
	if target, ok := replay.Target(m); ok {
		switch m.Method {
		case "tools/call":
			put(a, "gen_ai.operation.name", "execute_tool")
			put(a, "gen_ai.tool.name", target)
			name += " " + target
		case "prompts/get":
			put(a, "gen_ai.prompt.name", target)
			name += " " + target
		default:
			put(a, "mcp.resource.uri", target)
		}
	}
	c.span.SetName(strings.ToValidUTF8(name, "\ufffd"))
	if id := string(m.ID); id != "null" {
		if id[0] == '"' {
			id = text(m.ID)
		}
		put(a, "jsonrpc.request.id", id)
	}
	a.PutInt("mcprec.request", int64(c.seq))
}

// remoteParent says of a span that it is known whether its parent is remote, and it is.
const remoteParent = 0x300

// place puts a call into its trace.
func (s *session) place(c *call, e store.Event, m transport.Message) {
	c.span.SetTraceID(s.trace)
	c.span.SetParentSpanID(s.root.SpanID())
	on := s.streams[e.Stream]
	if on != nil && on.call != nil && e.Dir == transport.ServerToClient {
		c.span.SetTraceID(on.call.span.TraceID())
		c.span.SetParentSpanID(on.call.span.SpanID())
	}
	parent := remoteOf(m)
	if on != nil && e.Dir == transport.ClientToServer {
		on.call = c
		if parent == nil {
			parent = on.parent
		}
	}
	if parent == nil {
		return
	}
	c.span.SetTraceID(parent.trace)
	c.span.SetParentSpanID(parent.span)
	c.span.SetFlags(remoteParent | uint32(parent.flags))
	c.span.TraceState().FromRaw(parent.state)
	link := c.span.Links().AppendEmpty()
	link.SetTraceID(s.trace)
	link.SetSpanID(s.root.SpanID())
}

func (s *session) response(e store.Event, m transport.Message) {
	key := callKey{e.Dir.Reverse(), mcp.KeyOf(m.ID)}
	c := s.answeredBy(key, e.Stream)
	if c == nil {
		s.note(s.root, e.At, "response to no request")
		return
	}
	if c.method == "initialize" {
		if v := text(transport.Member(m.Result, "protocolVersion")); v != "" {
			s.revision = v
		}
		s.server = text(transport.Member(m.Result, "serverInfo", "name"))
	}
	a := c.span.Attributes()
	a.PutInt("mcprec.response", int64(e.Seq))
	switch {
	case m.Error != nil:
		code := string(transport.Member(m.Error, "code"))
		if code == "" {
			code = "_OTHER"
		}
		put(a, "error.type", code)
		put(a, "rpc.response.status_code", code)
		c.span.Status().SetCode(ptrace.StatusCodeError)
		c.span.Status().SetMessage(text(transport.Member(m.Error, "message")))
	case string(transport.Member(m.Result, "isError")) == "true":
		put(a, "error.type", "tool_error")
		c.span.Status().SetCode(ptrace.StatusCodeError)
	}
	c.span.SetEndTimestamp(s.time(e.At))
	s.finish(c)
}

// answeredBy returns the call that a response on a stream answers, nil if there is none:
// that of its exchange, and where the exchange asked nothing with the id the first that is
// open.
func (s *session) answeredBy(key callKey, stream uint64) *call {
	own := false
	if on := s.streams[stream]; on != nil {
		for _, c := range on.asked {
			if c.key != key {
				continue
			}
			if own = true; !c.over {
				return c
			}
		}
	}
	i := slices.IndexFunc(s.calls[key], func(c *call) bool { return c.status == 0 })
	if own || i < 0 {
		return nil
	}
	return s.calls[key][i]
}

// refuse notes that an HTTP status answers the calls of an exchange. A message may come
// besides, so they end with the exchange.
func (s *session) refuse(e store.Event, status int) {
	if on := s.streams[e.Stream]; on != nil {
		for _, c := range on.asked {
			c.status, c.refused = status, e.At
		}
	}
}

// endRefused ends a call that was answered by an HTTP status.
func (s *session) endRefused(c *call) {
	code := strconv.Itoa(c.status)
	put(c.span.Attributes(), "error.type", code)
	c.span.Attributes().PutInt("http.response.status_code", int64(c.status))
	c.span.Status().SetCode(ptrace.StatusCodeError)
	c.span.Status().SetMessage("HTTP " + code)
	c.span.SetEndTimestamp(s.time(c.refused))
	s.finish(c)
}

// unanswered ends a call with the session.
func (s *session) unanswered(c *call) {
	if c.status != 0 {
		s.endRefused(c)
		return
	}
	s.note(c.span, s.last, "no answer")
	c.span.SetEndTimestamp(s.time(s.last))
	s.finish(c)
}

// finish hands a call's span out.
func (s *session) finish(c *call) {
	delete(s.open, c.number)
	c.over = true
	open := s.calls[c.key]
	if i := slices.Index(open, c); i == 0 {
		open = open[1:]
	} else {
		open = slices.Delete(open, i, i+1)
	}
	if len(open) == 0 {
		delete(s.calls, c.key)
	} else {
		s.calls[c.key] = open
	}
	if s.tokens[c.token] == c {
		delete(s.tokens, c.token)
	}
	if on := s.streams[c.stream]; on != nil && on.call == c {
		on.call = nil
	}
	s.common(c.span.Attributes())
	c.span.MoveTo(s.spans.AppendEmpty())
}

// common puts the attributes that all spans have.
func (s *session) common(a pcommon.Map) {
	if s.revision != "" {
		put(a, "mcp.protocol.version", s.revision)
	}
	if s.mcp != "" {
		put(a, "mcp.session.id", s.mcp)
	}
	switch s.header.Transport {
	case "stdio":
		put(a, "network.transport", "pipe")
	case "http":
		put(a, "network.transport", "tcp")
		put(a, "network.protocol.name", "http")
	}
	u, err := url.Parse(s.header.URL)
	if err != nil || u.Hostname() == "" {
		return
	}
	put(a, "server.address", u.Hostname())
	port := map[string]int64{"http": 80, "https": 443}[u.Scheme]
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		port = int64(n)
	}
	if port != 0 {
		a.PutInt("server.port", port)
	}
}

// notification adds an event to the call that it concerns, or to the session.
func (s *session) notification(e store.Event, m transport.Message) {
	span := s.root
	if about := s.concerns(e, m); about != nil {
		span = about.span
	}
	a, ok := s.note(span, e.At, m.Method)
	if !ok {
		return
	}
	a.PutInt("mcprec.event", int64(e.Seq))
	for _, key := range told[m.Method] {
		raw := transport.Member(m.Params, key)
		name := strings.TrimPrefix(m.Method, "notifications/") + "." + key
		switch number, err := strconv.ParseFloat(string(raw), 64); {
		case raw == nil:
		case raw[0] == '"':
			put(a, name, text(raw))
		case err == nil:
			a.PutDouble(name, number)
		default:
			put(a, name, string(raw))
		}
	}
}

// concerns returns the open call that a notification is about, nil if it is about none.
func (s *session) concerns(e store.Event, m transport.Message) *call {
	switch m.Method {
	case "notifications/progress":
		return s.tokens[callKey{e.Dir.Reverse(), mcp.KeyOf(m.ProgressToken())}]
	case "notifications/cancelled":
		if open := s.calls[callKey{e.Dir, mcp.KeyOf(transport.Member(m.Params, "requestId"))}]; len(open) > 0 {
			return open[len(open)-1]
		}
	case "notifications/message":
		if on := s.streams[e.Stream]; on != nil && e.Dir == transport.ServerToClient {
			return on.call
		}
	}
	return nil
}

// told are the params of notifications that their events have.
var told = map[string][]string{
	"notifications/progress":          {"progress", "total", "message"},
	"notifications/message":           {"level", "logger", "data"},
	"notifications/cancelled":         {"reason"},
	"notifications/resources/updated": {"uri"},
}
