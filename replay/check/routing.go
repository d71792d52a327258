package check

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// routing is what the headers of a request say of its body, for whoever routes it
// without reading that. One whose headers were not recorded has none.
type routing map[string][]string

func routingOf(header map[string][]string) routing { return routing(header) }

// routed compares a request of a client, the only message of its body, with its headers.
// HTTP+SSE knows none of these.
func (f *Fold) routed(e store.Event, s *scope, m *transport.Message) {
	r := f.scopes.routing[e.Stream]
	delete(f.scopes.routing, e.Stream)
	version := versionOf(m)
	if len(r) == 0 || f.scopes.events || m.Kind() != transport.Request || m.Method == "initialize" ||
		max(version, headerOf(r, "Mcp-Protocol-Version")) < order.Revision2026_07_28 {
		return
	}
	j := routingJudge{f, e, s, r}
	j.compare("MCP-Protocol-Version", version, true)
	j.compare("Mcp-Method", m.Method, true)
	target, _ := replay.Target(*m)
	j.compare("Mcp-Name", target, slices.Contains([]string{"tools/call", "resources/read", "prompts/get"}, m.Method))
	if m.Method == "tools/call" {
		for _, p := range f.tools[target].params {
			value, given := argument(m.Params, p.path)
			j.compare("Mcp-Param-"+p.header, value, given)
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
	revision := max(j.s.rules.Revision(), order.Revision2026_07_28)
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
	return strings.Trim(string(transport.Member(m.Params, "_meta", metaVersion)), `"`)
}
