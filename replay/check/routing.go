package check

import (
	"strings"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// routing is what the headers of a request say of its body, for whoever routes it
// without reading that.
type routing struct{ method, name, version string }

func routingOf(header map[string][]string) routing {
	first := func(name string) string {
		if v := header[name]; len(v) > 0 {
			return v[0]
		}
		return ""
	}
	return routing{first("Mcp-Method"), first("Mcp-Name"), first("Mcp-Protocol-Version")}
}

// routed compares a request of a client, the only message of its body, with what its
// headers said. A header that is not there, or is encoded, says nothing.
func (f *Fold) routed(e store.Event, s *scope, m *transport.Message) {
	r, known := f.scopes.routing[e.Stream]
	delete(f.scopes.routing, e.Stream)
	version := versionOf(m)
	if !known || version < order.Revision2026_07_28 {
		return
	}
	target, _ := replay.Target(*m)
	for _, c := range [][3]string{{"Mcp-Method", r.method, m.Method}, {"Mcp-Name", r.name, target}, {"MCP-Protocol-Version", r.version, version}} {
		if c[1] != "" && c[2] != "" && c[1] != c[2] && !strings.HasPrefix(c[1], "=?") {
			f.finds(misrouted, e.Dir, s.rules.Revision(), []uint64{e.Seq}, "the client sent %s with the header %s: %s", clip(c[2]), c[0], clip(c[1]))
		}
	}
}

// versionOf returns the revision that a request of a stateless session names.
func versionOf(m *transport.Message) string {
	return strings.Trim(string(transport.Member(m.Params, "_meta", "io.modelcontextprotocol/protocolVersion")), `"`)
}
