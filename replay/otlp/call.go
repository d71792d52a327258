package otlp

import (
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// call is a request whose span has not ended.
type call struct {
	number uint64 // of the span in the session; the session's own is 1
	span   *span
	method string
	stream uint64
	over   bool

	status  int // the HTTP status that refused the request; 0: none
	refused time.Duration
}

func (s *session) request(e store.Event, m transport.Message) {
	s.count++
	c := &call{number: s.count, method: m.Method, stream: e.Stream}
	c.span = &span{
		TraceID: s.trace, ParentSpanID: &s.root.SpanID, Kind: kindClient, SpanID: s.spanID(s.count), Start: s.time(e.At),
	}
	s.requests.Ask(e.Dir, e.Stream, mcp.KeyOf(m.ID), mcp.KeyOf(m.ProgressToken()), c)
	s.open[c.number] = c
	meta := transport.Member(m.Params, mcp.MemberMeta)
	parent := parseRemote(text(transport.Member(meta, "traceparent")), text(transport.Member(meta, "tracestate")))
	if on := s.streams[e.Stream]; on != nil {
		if on.call != nil && e.Dir == transport.ServerToClient {
			c.span.TraceID = on.call.span.TraceID
			c.span.ParentSpanID = &on.call.span.SpanID
		}
		if e.Dir == transport.ClientToServer {
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
	c.describe(m, e.Seq)
	if v := text(transport.Member(meta, mcp.MetaProtocolVersion)); v != "" {
		s.revision = v
	}
}

// describe gives the span the request's name and attributes.
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

// remoteParent is two flags of a span: has_is_remote and is_remote, of the parent.
const remoteParent = 0x300

func (s *session) response(e store.Event, m transport.Message) {
	c, found := s.requests.Answer(e.Dir.Reverse(), e.Stream, mcp.KeyOf(m.ID))
	if !found {
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

// endRefused ends a call whose only answer is an HTTP status.
func (s *session) endRefused(c *call) {
	code := strconv.Itoa(c.status)
	c.span.Attributes.set("error.type", stringOf(code))
	c.span.Attributes.set("http.response.status_code", intOf(c.status))
	c.span.Status = status{"HTTP " + code, statusError}
	c.span.End = s.time(c.refused)
	s.finish(c)
}

// finish adds the call's span to the batch.
func (s *session) finish(c *call) {
	delete(s.open, c.number)
	c.over = true
	if on := s.streams[c.stream]; on != nil && on.call == c {
		on.call = nil
	}
	s.common(&c.span.Attributes)
	*s.spans() = append(*s.spans(), c.span)
}

// common sets the attributes that every span has.
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

// notification adds an event to the span of the call that it concerns, else to the session's.
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
	for _, key := range eventParams[m.Method] {
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

// concerns returns the open call that a notification is about, or nil.
func (s *session) concerns(e store.Event, m transport.Message) *call {
	switch m.Method {
	case mcp.NotificationProgress:
		c, _ := s.requests.Progress(e.Dir.Reverse(), e.Stream, mcp.KeyOf(m.ProgressToken()))
		if c == nil || c.over {
			return nil
		}
		return c
	case mcp.NotificationCancelled:
		c, _ := s.requests.Cancel(e.Dir, mcp.KeyOf(timeline.CancelledID(m)))
		return c
	case mcp.NotificationMessage:
		if on := s.streams[e.Stream]; on != nil && e.Dir == transport.ServerToClient {
			return on.call
		}
	}
	return nil
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
	s, _ := timeline.StringOf(raw)
	return s
}
