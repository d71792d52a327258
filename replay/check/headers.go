package check

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Rule E9.
var (
	headerAgrees = newDemand("E9", "headers say what the body says", order.Error, pageHTTP+", Server Validation", mcp.Stateless)
	headerThere  = newDemand("E9", "a request has its routing headers", order.Error, pageHTTP+", Request Metadata", mcp.Stateless)
)

// judgeHeaders is rule E9 of a request of the client, the only message of a body. An exchange
// without recorded headers is not judged.
func judgeHeaders(r *reporter, e store.Event, headers map[string][]string, revision string, m *transport.Message, tools *toolHistory) {
	named := metaRevision(m)
	if header := firstHeader(headers, mcp.HeaderProtocolVersion); named == "" && isUnknown(header, "") { // rule P16
		return
	}
	if len(headers) == 0 || m.Kind() != transport.Request || m.Method == mcp.MethodInitialize ||
		!mcp.Stateless.Has(max(named, firstHeader(headers, mcp.HeaderProtocolVersion))) {
		return
	}
	revision = max(revision, mcp.Stateless.First)
	masked := r.mask.Message(m) // as the headers are
	m = &masked
	compare := func(name, body string, needed bool) {
		raw := firstHeader(headers, name)
		header, readable := decodeHeader(raw)
		report := func(demand order.Demand, format string, args ...any) {
			r.report(demand, e.Dir, revision, []uint64{e.Seq}, format, args...)
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
	isOfTask := slices.Contains([]string{mcp.MethodGetTask, mcp.MethodUpdateTask, mcp.MethodCancelTask}, m.Method)
	name := target
	if isOfTask { // the extension has the task's id there
		name = transport.MemberText(m.Params, mcp.MemberTaskID)
	}
	compare("MCP-Protocol-Version", named, true)
	compare(mcp.HeaderMethod, m.Method, true)
	compare(mcp.HeaderName, name, isOfTask || slices.Contains([]string{mcp.MethodCallTool, mcp.MethodReadResource, mcp.MethodGetPrompt}, m.Method))
	if m.Method == mcp.MethodCallTool {
		for _, p := range tools.seen[target].params {
			value, given := p.argument(m.Params)
			compare(mcp.HeaderParamPrefix+p.header, value, given)
		}
	}
}

// metaRevision returns the revision in the _meta of a stateless session's request.
func metaRevision(message *transport.Message) string {
	return strings.Trim(string(transport.Member(message.Params, mcp.MemberMeta, mcp.MetaProtocolVersion)), `"`)
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

// sameNumber reports whether two texts are the same number, as 42 and 42.0.
func sameNumber(a, b string) bool {
	return mcp.IsNumber(a) && mcp.IsNumber(b) && mcp.Decimal(a) == mcp.Decimal(b)
}
