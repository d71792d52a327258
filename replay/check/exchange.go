package check

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// course is how far an HTTP exchange has come. What has none of HTTP, as a pipe, is
// exchange 0, which has no events of its own.
type course struct {
	lanes    [3]lane
	asked    uint64 // its request
	askedAt  time.Duration
	posted   string                 // what a request's body holds that is no call; "" where it holds one
	undo     []func(refusal string) // of what its request's body did; see notTaken
	answered uint64                 // the first of its response
	spoken   uint64                 // the first frame or event of its response
	ended    uint64
	hungUp   bool   // the client ended it
	cut      bool   // the client or the recorder ended it: what the server had sent may still come
	method   string // HTTP's
	session  string // the protocol session that it names
	version  string // the revision that its request's header names
	status   int    // of its response
	single   bool   // its response is one body, and no stream
	place    place  // in the stream that it is, or takes up again
	resumed  bool   // it takes up a stream
	answers  bool   // it is the stream of HTTP+SSE on which answers come
	again    bool   // its server has said how to take it up again
}

// courses are those of the exchanges. One that has ended is remembered until there are
// many: what may still be seen of it comes soon.
type courses struct {
	all  map[uint64]*course
	left int // that were left when some were last let go
}

// of returns an exchange; nil of one that was never begun.
func (c *courses) of(stream uint64) *course { return c.all[stream] }

// begin returns an exchange, a new one if need be.
func (c *courses) begin(stream uint64) *course {
	x := c.all[stream]
	if x == nil {
		if len(c.all) >= 2*max(1024, c.left) {
			maps.DeleteFunc(c.all, func(n uint64, old *course) bool { return n != 0 && (old.ended != 0 || old.asked == 0) })
			c.left = len(c.all)
		}
		x = &course{}
		c.all[stream] = x
	}
	return x
}

// asks takes note of the request of an exchange.
func (f *Fold) asks(e store.Event, info store.HTTPInfo) *course {
	x := f.courses.begin(e.Stream)
	if x.ended != 0 { // its number is given again
		*x = course{}
	}
	if x.answered != 0 {
		f.finds(answersRaw, transport.ServerToClient, "", []uint64{e.Seq, x.answered}, "the request of exchange %d stands behind its response (#%d)", e.Stream, x.answered)
	}
	x.asked, x.askedAt, x.method = e.Seq, e.At, info.Method
	x.session, x.version = headerOf(info.Header, mcp.HeaderSessionID), headerOf(info.Header, mcp.HeaderProtocolVersion)
	return x
}

// responds takes note of what is of an exchange's response.
func (f *Fold) responds(e store.Event, what string) *course {
	x := f.courses.begin(e.Stream)
	if x.answered == 0 {
		x.answered = e.Seq
	}
	if x.ended != 0 && !x.cut {
		f.finds(afterBody, transport.ServerToClient, "", []uint64{e.Seq, x.ended}, "the server sent %s of exchange %d after its end (#%d)", what, e.Stream, x.ended)
	}
	return x
}

// passes takes note of a frame, and is rule U3 of it.
func (f *Fold) passes(e store.Event, p order.Parsed) *course {
	if e.Stream != 0 && e.Dir == transport.ServerToClient {
		x := f.responds(e, "a frame")
		if x.spoken == 0 {
			x.spoken = e.Seq
		}
	}
	x := f.courses.begin(e.Stream)
	x.lanes[e.Dir].sent = e.Seq
	f.flying.sends(e, p)
	if e.Stream != 0 && e.Dir == transport.ClientToServer && x.spoken != 0 && x.ended == 0 && x.status < 300 {
		f.finds(answersRaw, transport.ServerToClient, "", []uint64{e.Seq, x.spoken}, "the body of the request of exchange %d stands behind a frame of its response (#%d)", e.Stream, x.spoken)
	}
	return x
}

// refused reports whether HTTP refused an exchange. A body may say why, in the words of a
// login or of a web framework: it need not be a message.
func (x *course) refused() bool { return x.status >= 300 }

// turnedAway reports whether HTTP refused an exchange by a status that is about the exchange
// and not about the message in it, as for a login or where the server is busy: a client may
// send the message again, whatever the body says.
func (x *course) turnedAway() bool {
	switch x.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
		http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// answersInWords reports whether the body of a refusal is the response to a request. A
// JSON-RPC error without an id, which a body may be too, answers none.
func answersInWords(p order.Parsed) bool {
	if len(p.Messages) != 1 {
		return false
	}
	m := &p.Messages[0]
	return m.Kind() == transport.Response && saysJSONRPC(m.Raw) && m.ID != nil && string(m.ID) != "null"
}

// closedByClient returns the event with which a client of HTTP+SSE closed the stream that
// answers come on; 0 where some such stream is open.
func (f *Fold) closedByClient() uint64 {
	last := f.courses.of(f.scopes.answers)
	if !f.scopes.events || last == nil || !last.hungUp {
		return 0
	}
	for _, x := range f.courses.all {
		if x.answers && x.ended == 0 {
			return 0
		}
	}
	return last.ended
}

// headed takes note of the head of a response.
func (f *Fold) headed(e store.Event, info store.HTTPInfo) {
	x := f.responds(e, "the head")
	f.heads = true
	x.status = info.Status
	if id := headerOf(info.Header, mcp.HeaderSessionID); id != "" {
		x.session = id
	}
	if !x.refused() {
		x.undo = nil
	}
	if info.Status == 202 && len(f.scopes.asked[e.Stream]) > 0 {
		f.scopes.events = true // the answer comes on another stream: HTTP+SSE, whose beginning is not here
	}
	kind, _, _ := strings.Cut(headerOf(info.Header, "Content-Type"), ";")
	x.single = strings.EqualFold(strings.TrimSpace(kind), mcp.MediaJSON)
}

// posts takes note of a POST that asks for nothing, such as a notification: what answers
// it is a status.
func (x *course) posts(p order.Parsed) {
	if x.asked == 0 || x.method != "POST" || x.answered != 0 || len(p.Messages) == 0 {
		return
	}
	for i := range p.Messages {
		if p.Messages[i].Kind() == transport.Request {
			return
		}
	}
	if x.posted = clip(p.Messages[0].Method); p.Messages[0].Kind() == transport.Response {
		x.posted = "the response to id " + clip(string(p.Messages[0].ID))
	}
}

// leavesPost is rule E14 of an exchange that ends. A client that hangs up at once leaves
// it, and where the recorder ended first nothing is known.
func (f *Fold) leavesPost(e store.Event, x *course, info store.HTTPInfo) {
	waited := e.At - x.askedAt
	if x.posted == "" || x.answered != 0 || x.ended != 0 || info.What == store.HTTPLeft || info.What == store.HTTPAbort && waited < leftFor {
		return
	}
	f.finds(unreceived, transport.ServerToClient, f.revisionOf(x), []uint64{x.asked, e.Seq}, "the server did not answer the POST of %s (exchange %d) in %v: %s", x.posted, e.Stream, phrase.Brief(waited), httpEnding(info, e.Seq))
}

// leavesPosts is rule E14 of the exchanges that are open at the end of a session. It says
// nothing where the recording has no status of any.
func (f *Fold) leavesPosts() {
	if !f.heads || !f.end.sealed {
		return
	}
	for _, stream := range slices.Sorted(maps.Keys(f.courses.all)) {
		if x := f.courses.all[stream]; x.posted != "" && x.answered == 0 && x.ended == 0 {
			f.finds(unreceived, transport.ServerToClient, f.revisionOf(x), []uint64{x.asked, f.seq}, "the server did not answer the POST of %s (exchange %d) in %v, to the end of the recording", x.posted, stream, phrase.Brief(f.at-x.askedAt))
		}
	}
}

// headerOf returns a header's first value, however its name is spelled.
func headerOf(header map[string][]string, name string) string {
	values, ok := header[name]
	if !ok {
		for spelled, v := range header {
			if strings.EqualFold(spelled, name) {
				values = v
			}
		}
	}
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// revisionOf is the revision in force for an exchange: the session's, or what its
// request's header names.
func (f *Fold) revisionOf(x *course) string {
	own := f.scopes.session
	if named := f.scopes.sessions[x.session]; named != nil {
		own = named
	}
	if r := own.rules.Revision(); r != "" {
		return r
	}
	return x.version
}

// resumes reports whether a revision has streams that are taken up again.
func resumes(revision string) bool {
	return revision >= streams && revision < mcp.Revision2026_07_28
}

// routing is what the headers of a request say of its body, for whoever routes it
// without reading that. One whose headers were not recorded has none.
type routing map[string][]string

// routed compares a request of a client, the only message of its body, with its headers.
// HTTP+SSE knows none of these.
func (f *Fold) routed(e store.Event, s *scope, m *transport.Message) {
	r := f.scopes.routing[e.Stream]
	delete(f.scopes.routing, e.Stream)
	version := versionOf(m)
	if len(r) == 0 || f.scopes.events || m.Kind() != transport.Request || m.Method == mcp.MethodInitialize ||
		max(version, headerOf(r, mcp.HeaderProtocolVersion)) < mcp.Revision2026_07_28 {
		return
	}
	j := routingJudge{f, e, s, r}
	j.compare("MCP-Protocol-Version", version, true)
	j.compare(mcp.HeaderMethod, m.Method, true)
	target, _ := timeline.Target(*m)
	j.compare(mcp.HeaderName, target, slices.Contains([]string{mcp.MethodCallTool, mcp.MethodReadResource, mcp.MethodGetPrompt}, m.Method))
	if m.Method == mcp.MethodCallTool {
		for _, p := range f.tools[target].params {
			value, given := argument(m.Params, p.path)
			j.compare(mcp.HeaderParamPrefix+p.header, value, given)
		}
	}
}

type routingJudge struct {
	f *Fold
	e store.Event
	s *scope
	r routing
}

// compare is rule E9 of one header and what the body says; needed is whether it must be
// there.
func (j routingJudge) compare(name, body string, needed bool) {
	raw := headerOf(j.r, name)
	header, readable := decodeHeader(raw)
	revision := max(j.s.rules.Revision(), mcp.Revision2026_07_28)
	says := func(d order.Demand, format string, args ...any) {
		j.f.finds(d, j.e.Dir, revision, []uint64{j.e.Seq}, format, args...)
	}
	switch {
	case raw == "" && !needed, header == body && readable:
	case raw == "" && body == "": // which the schema has something to say of
	case raw == "":
		says(unrouted, "the client sent %s without the header %s", clip(body), name)
	case !readable:
		says(misrouted, "the client sent the header %s: %s, which is not well encoded", name, clip(raw))
	case body == "" && !needed:
	case body == "":
		says(misrouted, "the client sent the header %s: %s, and its body names none", name, clip(raw))
	case !sameNumber(header, body):
		says(misrouted, "the client sent %s with the header %s: %s", clip(body), name, clip(raw))
	}
}

// decodeHeader returns what a header's value stands for.
func decodeHeader(value string) (decoded string, ok bool) {
	inner, encoded := strings.CutPrefix(value, "=?base64?")
	inner, closed := strings.CutSuffix(inner, "?=")
	if !encoded || !closed {
		return value, true
	}
	b, err := base64.StdEncoding.DecodeString(inner)
	return string(b), err == nil
}

// versionOf returns the revision that a request of a stateless session names.
func versionOf(m *transport.Message) string {
	return strings.Trim(string(transport.Member(m.Params, mcp.MemberMeta, mcp.MetaProtocolVersion)), `"`)
}

// param is an argument of a tool that goes into a header too.
type param struct {
	path   []string // below the arguments
	header string   // behind Mcp-Param-
}

// mostParams is how many are read of a tool, and deepestParam how far below its root.
const (
	mostParams   = 100
	deepestParam = 20
)

// paramsOf reads a tool's input schema for them.
func paramsOf(schema json.RawMessage, path []string, list []param) []param {
	var properties map[string]json.RawMessage
	if len(path) > deepestParam || json.Unmarshal(transport.Member(schema, "properties"), &properties) != nil {
		return list
	}
	for _, name := range sortedKeys(properties) {
		below := append(path[:len(path):len(path)], name)
		var header string
		if json.Unmarshal(transport.Member(properties[name], "x-mcp-header"), &header) == nil && header != "" && len(list) < mostParams {
			list = append(list, param{below, header})
		}
		list = paramsOf(properties[name], below, list)
	}
	return list
}

// argument returns an argument as a header has it, and whether it is there to be sent.
func argument(params json.RawMessage, path []string) (value string, given bool) {
	raw := transport.Member(params, append([]string{"arguments"}, path...)...)
	switch {
	case raw == nil || string(raw) == "null":
		return "", false
	case raw[0] == '"':
		given = json.Unmarshal(raw, &value) == nil
		return value, given
	}
	return string(raw), raw[0] != '{' && raw[0] != '['
}

// sameNumber reports whether two values are the same number, as 42 and 42.0.
func sameNumber(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && x == y
}
