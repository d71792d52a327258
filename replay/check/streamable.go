package check

import (
	"encoding/base64"
	"encoding/json"
	"hash/maphash"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Rule E9.
var (
	headerAgrees = newDemand("E9", "headers say what the body says", order.Error, pageHTTP+", Server Validation", newest, newest)
	headerThere  = newDemand("E9", "a request has its routing headers", order.Error, pageHTTP+", Request Metadata", newest, newest)
)

// judgeHeaders is rule E9 of a request of the client, the only message of a body. An exchange
// without recorded headers is not judged.
func judgeHeaders(r *reporter, e store.Event, headers map[string][]string, revision string, m *transport.Message, tools *toolHistory) {
	named := metaRevision(m)
	if len(headers) == 0 || m.Kind() != transport.Request || m.Method == mcp.MethodInitialize ||
		max(named, firstHeader(headers, mcp.HeaderProtocolVersion)) < mcp.Revision2026_07_28 {
		return
	}
	revision = max(revision, mcp.Revision2026_07_28)
	compare := func(name, body string, needed bool) {
		raw := firstHeader(headers, name)
		header, readable := decodeHeader(raw)
		report := func(d order.Demand, format string, args ...any) {
			r.report(d, e.Dir, revision, []uint64{e.Seq}, format, args...)
		}
		switch {
		case raw == "" && !needed, header == body && readable:
		case raw == "" && body == "": // the schema's concern
		case raw == "":
			report(headerThere, "the client sent %s without the header %s", clip(body), name)
		case !readable:
			report(headerAgrees, "the client sent the header %s: %s, which is not well encoded", name, clip(raw))
		case body == "" && !needed:
		case body == "":
			report(headerAgrees, "the client sent the header %s: %s, and its body names none", name, clip(raw))
		case !sameNumber(header, body):
			report(headerAgrees, "the client sent %s with the header %s: %s", clip(body), name, clip(raw))
		}
	}
	target, _ := timeline.Target(*m)
	compare("MCP-Protocol-Version", named, true)
	compare(mcp.HeaderMethod, m.Method, true)
	compare(mcp.HeaderName, target, slices.Contains([]string{mcp.MethodCallTool, mcp.MethodReadResource, mcp.MethodGetPrompt}, m.Method))
	if m.Method == mcp.MethodCallTool {
		for _, p := range tools.seen[target].params {
			value, given := p.argument(m.Params)
			compare(mcp.HeaderParamPrefix+p.header, value, given)
		}
	}
}

// metaRevision returns the revision in the _meta of a stateless session's request.
func metaRevision(m *transport.Message) string {
	return strings.Trim(string(transport.Member(m.Params, mcp.MemberMeta, mcp.MetaProtocolVersion)), `"`)
}

// decodeHeader decodes a header's value.
func decodeHeader(value string) (decoded string, ok bool) {
	inner, encoded := strings.CutPrefix(value, "=?base64?")
	inner, closed := strings.CutSuffix(inner, "?=")
	if !encoded || !closed {
		return value, true
	}
	b, err := base64.StdEncoding.DecodeString(inner)
	return string(b), err == nil
}

// headerParam is an argument of a tool, sent in a header too.
type headerParam struct {
	path   []string // below the arguments
	header string   // behind Mcp-Param-
}

// headerParams reads the arguments with a header from a tool's input schema: at most 100
// arguments, and at most 20 levels below the root.
func headerParams(schema json.RawMessage, path []string, list []headerParam) []headerParam {
	const maxParams, maxDepth = 100, 20
	var properties map[string]json.RawMessage
	if len(path) > maxDepth || json.Unmarshal(transport.Member(schema, "properties"), &properties) != nil {
		return list
	}
	for _, name := range sortedKeys(properties) {
		below := append(path[:len(path):len(path)], name)
		var header string
		if json.Unmarshal(transport.Member(properties[name], "x-mcp-header"), &header) == nil && header != "" && len(list) < maxParams {
			list = append(list, headerParam{below, header})
		}
		list = headerParams(properties[name], below, list)
	}
	return list
}

// argument returns the argument as the header spells it, and whether a request must send
// the header.
func (p headerParam) argument(params json.RawMessage) (value string, given bool) {
	raw := transport.Member(params, append([]string{"arguments"}, p.path...)...)
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
	x, errA := strconv.ParseFloat(a, 64)
	y, errB := strconv.ParseFloat(b, 64)
	return errA == nil && errB == nil && x == y
}

// Rule P11.
var (
	eventIDUnique  = newDemand("P11", "an event has an id of its own", order.Error, pageResumability, firstHTTP, lastHandshake)
	eventForward   = newDemand("P11", "redelivery keeps the stream's order, and gives nothing twice", order.Error, pageResumability, firstHTTP, lastHandshake)
	eventOfStream  = newDemand("P11", "no event of another stream is redelivered", order.Error, pageResumability, firstHTTP, lastHandshake)
	eventKnown     = newDemand("P11", "a stream is taken up behind an event that was received", order.Warning, pageResumability, firstHTTP, lastHandshake)
	responseStream = newDemand("P11", "a response comes on its request's stream, or where that is taken up again", order.Error,
		"basic/transports, Listening for Messages from the Server", firstHTTP, lastHandshake)
	notResumed = newDemand("P11", "a lost stream is not taken up again", order.Warning, pageHTTP+", Receiving Messages", newest, newest)
)

const pageResumability = "basic/transports, Resumability and Redelivery"

// position is the place of an event in a stream.
type position struct {
	*eventStream
	n   uint64 // from 1
	seq uint64 // of the event; 0: a client's claim
}

// eventStream is a stream of server-sent events, over the first exchange and those resuming.
type eventStream struct {
	events uint64 // events with an id
}

// hasResumption reports whether a revision has resumable streams.
func hasResumption(revision string) bool {
	return revision >= firstHTTP && revision < mcp.Revision2026_07_28
}

var idSeed = maphash.MakeSeed()

func eventKey(sessionID, id string) uint64 {
	return maphash.Comparable(idSeed, [2]string{sessionID, id})
}

// judgeResumption judges a request to resume a stream behind an event.
func (h *exchanges) judgeResumption(e store.Event, x *exchange, id string) {
	x.resumes = true
	revision := h.revisionOf(x)
	if revision >= mcp.Revision2026_07_28 {
		h.report(notResumed, transport.ClientToServer, revision, []uint64{e.Seq}, "the client asked for what comes after event %s of a stream", clip(id))
		return
	}
	last, known := h.events.get(eventKey(x.sessionID, id))
	if known {
		x.position = position{eventStream: last.eventStream, n: last.n}
		return
	}
	if own := h.byID[x.sessionID]; own != nil && own.beginning == middle {
		own.reportMiddle(h.reporter)
	} else if hasResumption(revision) {
		h.report(eventKnown, transport.ClientToServer, revision, []uint64{e.Seq}, "the client asked for what comes after event %s, which was never sent in its session", clip(id))
	}
}

// judgeEvent judges an event with an id. It reports whether a resumed stream has it again.
func (h *exchanges) judgeEvent(e store.Event, x *exchange, id string) bool {
	key := eventKey(x.sessionID, id)
	before, known := h.events.get(key)
	if !known {
		if x.position.eventStream == nil {
			x.position.eventStream = &eventStream{}
		}
		x.position.events++
		x.position.n = x.position.events
		h.events.put(key, position{x.position.eventStream, x.position.n, e.Seq})
		return false
	}
	// A recording without sessions may have several clients, each with ids of its own.
	if revision := h.revisionOf(x); hasResumption(revision) && (x.sessionID != "" || x.resumes) {
		report := func(d order.Demand, format string) {
			h.report(d, transport.ServerToClient, revision, []uint64{e.Seq, before.seq}, format, clip(id), before.seq)
		}
		switch own := x.position.eventStream; {
		case !x.resumes:
			report(eventIDUnique, "the server sent event %s, which has the id of #%d")
		case own != nil && own != before.eventStream:
			report(eventOfStream, "the server sent event %s again, which is of another stream (#%d)")
		case before.n <= x.position.n:
			report(eventForward, "the server sent event %s again (#%d), which is not behind what the client has")
		}
	}
	if x.position.eventStream == nil {
		x.position.eventStream = before.eventStream
	}
	if x.position.eventStream == before.eventStream {
		x.position.n = max(x.position.n, before.n)
	}
	return x.resumes
}

// judgeResponse judges a response on a stream opened with GET.
func (h *exchanges) judgeResponse(e store.Event, x *exchange, id string) {
	if revision := h.revisionOf(x); x.method == http.MethodGet && !x.resumes && !x.refused() && id != "null" && !h.isSSE && hasResumption(revision) {
		h.report(responseStream, transport.ServerToClient, revision, []uint64{e.Seq, x.requested.seq}, "the server sent the response to id %s on a stream that the client opened with GET (#%d)", clip(id), x.requested.seq)
	}
}
