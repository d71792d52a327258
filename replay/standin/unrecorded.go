package standin

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Unrecorded says what the live client asks for, or offers, that the recorded client did not. No rule compares
// these members: the recorded server answers as it did, and what a server would do with them is not played.
func (p *Player) Unrecorded() (remarks []string) {
	const remedy = "record it again with MCPREC_MODE=all"
	var progress []uint64 // requests
	recorded := map[string]bool{}
	offered := map[string]uint64{} // the first request, by capability
	for _, c := range p.messages {
		if c.msg().Kind() != transport.Request {
			continue
		}
		for _, name := range offers(c.msg()) {
			recorded[name] = true
		}
		if !c.arrived {
			continue
		}
		if c.live.ProgressToken() != nil && c.msg().ProgressToken() == nil {
			progress = append(progress, c.seq)
		}
		for _, name := range offers(*c.live) {
			if offered[name] == 0 {
				offered[name] = c.seq
			}
		}
	}
	if len(progress) > 0 {
		which := fmt.Sprintf("#%d", progress[0])
		if more := len(progress) - 1; more > 0 {
			which += fmt.Sprintf(" and %d more", more)
		}
		remarks = append(remarks, fmt.Sprintf("the client asks for progress here (request %s); the recording has none: %s", which, remedy))
	}
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		if !recorded[name] {
			remarks = append(remarks, fmt.Sprintf("the client offers %s here (request #%d), and the recorded client did not: %s",
				phrase.Name(name), offered[name], remedy))
		}
	}
	return remarks
}

// offers lists the capabilities that a request of the client offers: the handshake, or from revision 2026-07-28 on
// any request.
func offers(m transport.Message) []string {
	raw := transport.Member(m.Params, mcp.MemberMeta, mcp.MetaClientCapabilities)
	if m.Method == mcp.MethodInitialize {
		raw = transport.Member(m.Params, "capabilities")
	}
	var capabilities map[string]json.RawMessage
	_ = json.Unmarshal(raw, &capabilities) // of no object: none
	return slices.Collect(maps.Keys(capabilities))
}
