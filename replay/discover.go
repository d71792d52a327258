package replay

import (
	"encoding/json"
	"strings"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// serverInfo is the member of a result's _meta that names the server (2026-07-28).
const serverInfo = "io.modelcontextprotocol/serverInfo"

// discover answers a server/discover that has no recorded answer left. A client may
// probe for it with a server of its own, which is another session, and a recording
// then has none:
//
//   - what was recorded once is said again;
//   - a recording whose requests name their revision is described as far as it shows
//     what its server can: the client would fall back to a handshake otherwise, which
//     that server does not know;
//   - any other answers as a server does that is older than the method.
func (p *Player) discover() []byte {
	var shown discovery
	for _, c := range p.cues {
		m := c.msg()
		if m.Method == methodListen {
			shown.listen(m)
		}
		if m.Kind() != transport.Request || c.answer == nil {
			continue
		}
		for _, answer := range messagesOf(c.answer.frame) {
			if answer.Kind() != transport.Response || !mcp.Same(answer.ID, m.ID) {
				continue
			}
			if m.Method == methodDiscover && answer.Result != nil {
				return append([]byte(`"result":`), answer.Result...)
			}
			shown.note(m, answer)
		}
	}
	if len(p.revisions.stated) == 0 {
		return []byte(`"error":{"code":-32601,"message":"Method not found"}`)
	}
	return append([]byte(`"result":`), shown.result(p.revisions.settled)...)
}

// discovery is what a recording shows of its server.
type discovery struct {
	server       json.RawMessage // who it is
	capabilities map[string]map[string]bool
}

// note takes in a request that the recorded server answered.
func (d *discovery) note(request, answer transport.Message) {
	if d.server == nil {
		d.server = transport.Member(answer.Result, "_meta", serverInfo)
	}
	if answer.Result == nil {
		return
	}
	group, _, _ := strings.Cut(request.Method, "/")
	switch group {
	case "tools", "prompts", "resources":
		d.can(group, "")
	case "completion":
		d.can("completions", "")
	}
}

// listen notes what a client asked to be told of.
func (d *discovery) listen(request transport.Message) {
	for member, of := range map[string][2]string{
		"toolsListChanged":      {"tools", "listChanged"},
		"promptsListChanged":    {"prompts", "listChanged"},
		"resourcesListChanged":  {"resources", "listChanged"},
		"resourceSubscriptions": {"resources", "subscribe"},
	} {
		if transport.Member(request.Params, "notifications", member) != nil {
			d.can(of[0], of[1])
		}
	}
}

// can notes a capability, and something special about it unless that is "".
func (d *discovery) can(group, special string) {
	if d.capabilities == nil {
		d.capabilities = map[string]map[string]bool{}
	}
	if d.capabilities[group] == nil {
		d.capabilities[group] = map[string]bool{}
	}
	if special != "" {
		d.capabilities[group][special] = true
	}
}

// result returns it as the protocol has it.
func (d *discovery) result(versions []string) []byte {
	meta := map[string]any{}
	if d.server != nil {
		meta[serverInfo] = d.server
	}
	capabilities := d.capabilities
	if capabilities == nil {
		capabilities = map[string]map[string]bool{}
	}
	text, _ := json.Marshal(map[string]any{ // nothing in it that cannot be marshaled
		"resultType": "complete", "_meta": meta, "ttlMs": 0, "cacheScope": "private",
		"supportedVersions": versions, "capabilities": capabilities,
	})
	return text
}
