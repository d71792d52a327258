package otlp

import (
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

// call is a request without an answer so far.
type call struct {
	number uint64 // of the session's spans, whose first is its own
	span   *span
	method string
	key    callKey
	token  callKey // zero: none
	stream uint64
	over   bool

	status  int // of HTTP, which has refused it; 0: none
	refused time.Duration
}

func (s *session) request(e store.Event, m transport.Message) {
	s.count++
	c := &call{number: s.count, method: m.Method, key: callKey{e.Dir, mcp.KeyOf(m.ID)}, stream: e.Stream}
	c.span = &span{
		TraceID: s.trace, ParentSpanID: &s.root.SpanID, Kind: kindClient, SpanID: s.spanID(s.count), Start: s.time(e.At),
	}
	s.calls[c.key] = append(s.calls[c.key], c)
	s.open[c.number] = c
	if token := m.ProgressToken(); token != nil {
		c.token = callKey{e.Dir, mcp.KeyOf(token)}
		s.tokens[c.token] = c
	}
	meta := transport.Member(m.Params, mcp.MemberMeta)
	parent := parseRemote(text(transport.Member(meta, "traceparent")), text(transport.Member(meta, "tracestate")))
	if on := s.streams[e.Stream]; on != nil {
		on.asked = append(on.asked, c)
		if on.call != nil && e.Dir == transport.ServerToClient {
			c.span.TraceID, c.span.ParentSpanID = on.call.span.TraceID, &on.call.span.SpanID
		}
		if e.Dir == transport.ClientToServer {
			on.call = c
			if parent == nil {
				parent = on.parent
			}
		}
	}
	if parent != nil {
		c.span.TraceID, c.span.ParentSpanID = parent.trace, &parent.span
		c.span.Flags, c.span.TraceState = remoteParent|uint32(parent.flags), parent.state
		c.span.Links = []link{{s.trace, s.root.SpanID}}
	}
	c.describe(m, e.Seq)
	if v := text(transport.Member(meta, mcp.MetaProtocolVersion)); v != "" {
		s.revision = v
	}
}

// describe says what a request asks for.
func (c *call) describe(m transport.Message, seq uint64) {
	a := &c.span.Attributes
	a.set("mcp.method.name", stringOf(m.Method))
	name := m.Method
	if target, ok := timeline.Target(m); ok {
		switch m.Method {
		case mcp.MethodCallTool:
			a.set("gen_ai.operation.name", stringOf("execute_tool"))
			a.set("gen_ai.tool.name", stringOf(target))
			name += " " + target
		case mcp.MethodGetPrompt:
			a.set("gen_ai.prompt.name", stringOf(target))
			name += " " + target
		default:
			a.set("mcp.resource.uri", stringOf(target))
		}
	}
	c.span.Name = strings.ToValidUTF8(name, "\ufffd")
	if id := string(m.ID); id != "null" {
		if id[0] == '"' {
			id = text(m.ID)
		}
		a.set("jsonrpc.request.id", stringOf(id))
	}
	a.set("mcprec.request", intOf(seq))
}

// remoteParent says of a span that it is known whether its parent is remote, and it is.
const remoteParent = 0x300

func (s *session) response(e store.Event, m transport.Message) {
	key := callKey{e.Dir.Reverse(), mcp.KeyOf(m.ID)}
	c := s.answeredBy(key, e.Stream)
	if c == nil {
		s.note(s.root, e.At, "response to no request")
		return
	}
	if c.method == mcp.MethodInitialize {
		if v := text(transport.Member(m.Result, mcp.MemberProtocolVersion)); v != "" {
			s.revision = v
		}
		s.server = text(transport.Member(m.Result, mcp.MemberServerInfo, "name"))
	}
	a := &c.span.Attributes
	a.set("mcprec.response", intOf(e.Seq))
	switch {
	case m.Error != nil:
		code := string(transport.Member(m.Error, "code"))
		if code == "" {
			code = "_OTHER"
		}
		a.set("error.type", stringOf(code))
		a.set("rpc.response.status_code", stringOf(code))
		c.span.Status = status{text(transport.Member(m.Error, "message")), statusError}
	case string(transport.Member(m.Result, mcp.MemberIsError)) == "true":
		a.set("error.type", stringOf("tool_error"))
		c.span.Status.Code = statusError
	}
	c.span.End = s.time(e.At)
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

// endRefused ends a call that was answered by an HTTP status.
func (s *session) endRefused(c *call) {
	code := strconv.Itoa(c.status)
	c.span.Attributes.set("error.type", stringOf(code))
	c.span.Attributes.set("http.response.status_code", intOf(c.status))
	c.span.Status = status{"HTTP " + code, statusError}
	c.span.End = s.time(c.refused)
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
	s.common(&c.span.Attributes)
	*s.spans() = append(*s.spans(), c.span)
}

// common puts the attributes that all spans have.
func (s *session) common(a *attributes) {
	if s.revision != "" {
		a.set("mcp.protocol.version", stringOf(s.revision))
	}
	if s.mcp != "" {
		a.set("mcp.session.id", stringOf(s.mcp))
	}
	switch s.header.Transport {
	case "stdio":
		a.set("network.transport", stringOf("pipe"))
	case "http":
		a.set("network.transport", stringOf("tcp"))
		a.set("network.protocol.name", stringOf("http"))
	}
	u, err := url.Parse(s.header.URL)
	if err != nil || u.Hostname() == "" {
		return
	}
	a.set("server.address", stringOf(u.Hostname()))
	port := map[string]int64{"http": 80, "https": 443}[u.Scheme]
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		port = int64(n)
	}
	if port != 0 {
		a.set("server.port", intOf(port))
	}
}

// notification adds an event to the call that it concerns, or to the session.
func (s *session) notification(e store.Event, m transport.Message) {
	span := s.root
	if about := s.concerns(e, m); about != nil {
		span = about.span
	}
	a := s.note(span, e.At, m.Method)
	if a == nil {
		return
	}
	a.set("mcprec.event", intOf(e.Seq))
	for _, key := range told[m.Method] {
		raw := transport.Member(m.Params, key)
		name := strings.TrimPrefix(m.Method, "notifications/") + "." + key
		switch number, err := strconv.ParseFloat(string(raw), 64); {
		case raw == nil:
		case raw[0] == '"':
			a.set(name, stringOf(text(raw)))
		case err == nil:
			a.set(name, value{Double: &number})
		default:
			a.set(name, stringOf(string(raw)))
		}
	}
}

// concerns returns the open call that a notification is about, nil if it is about none.
func (s *session) concerns(e store.Event, m transport.Message) *call {
	switch m.Method {
	case mcp.NotificationProgress:
		return s.tokens[callKey{e.Dir.Reverse(), mcp.KeyOf(m.ProgressToken())}]
	case mcp.NotificationCancelled:
		if open := s.calls[callKey{e.Dir, mcp.KeyOf(transport.Member(m.Params, mcp.MemberRequestID))}]; len(open) > 0 {
			return open[len(open)-1]
		}
	case mcp.NotificationMessage:
		if on := s.streams[e.Stream]; on != nil && e.Dir == transport.ServerToClient {
			return on.call
		}
	}
	return nil
}

// told are the params of notifications that their events have.
var told = map[string][]string{
	mcp.NotificationProgress:        {"progress", "total", "message"},
	mcp.NotificationMessage:         {"level", "logger", "data"},
	mcp.NotificationCancelled:       {"reason"},
	mcp.NotificationResourceUpdated: {"uri"},
}
