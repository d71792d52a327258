package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// A recording is of the protocol revisions that its client named: until 2025-11-25 in
// the handshake, where the server's answer settles it, from 2026-07-28 on in every
// request. A live client of another revision is answered as the protocol has it:
//
//   - its handshake, where there is one in the recording, with the recorded answer,
//     which names the recorded revision: the client goes on with that, or leaves;
//   - a request that names another revision, and a handshake where the recording has
//     none, with UnsupportedProtocolVersion, which names the recorded ones: the
//     client tries again with one of those;
//   - server/discover, where it was never recorded and no request named its
//     revision, as a server does that is older than the method: the client falls back
//     to the handshake.

// unsupportedRevision is the protocol's error code for a revision that a server does
// not speak.
const unsupportedRevision = -32022

// protocolVersion is the member of _meta in which a request names its revision.
const protocolVersion = "io.modelcontextprotocol/protocolVersion"

// revisions are those of a recording.
type revisions struct {
	handshake bool     // initialize was recorded
	stated    []string // named by requests
	settled   []string // by an answer to initialize, or by a request that was not refused
}

// isNew reports whether a recorded request may say something that is not known yet.
func (r *revisions) isNew(request transport.Message) bool {
	if request.Method == methodInitialize {
		return true
	}
	v, ok := text(transport.Member(request.Params, "_meta", protocolVersion))
	return ok && !slices.Contains(r.settled, v)
}

// note takes in a recorded request and its answer, nil if there was none.
func (r *revisions) note(request transport.Message, answer json.RawMessage, refused bool) {
	if request.Method == methodInitialize {
		r.handshake = true
		if v, ok := text(transport.Member(answer, "protocolVersion")); ok && !slices.Contains(r.settled, v) {
			r.settled = append(r.settled, v)
		}
		return
	}
	v, ok := text(transport.Member(request.Params, "_meta", protocolVersion))
	if !ok {
		return
	}
	if !slices.Contains(r.stated, v) {
		r.stated = append(r.stated, v)
	}
	if !refused && !slices.Contains(r.settled, v) {
		r.settled = append(r.settled, v)
	}
}

// refuse returns the error for a live request of a revision that was not recorded;
// nil for every other.
func (r *revisions) refuse(m transport.Message) *revisionError {
	if len(r.settled) == 0 {
		return nil
	}
	if m.Method == methodInitialize {
		if r.handshake {
			return nil
		}
		v, _ := text(transport.Member(m.Params, "protocolVersion"))
		return &revisionError{v, r.settled}
	}
	v, ok := text(transport.Member(m.Params, "_meta", protocolVersion))
	if !ok || slices.Contains(r.stated, v) || slices.Contains(r.settled, v) || m.Method == methodDiscover && len(r.stated) == 0 {
		return nil
	}
	return &revisionError{v, r.settled}
}

// revisionError says that a request is of a revision which was not recorded.
type revisionError struct {
	requested string
	supported []string
}

func (e *revisionError) Error() string {
	return fmt.Sprintf("the client speaks %s, the recording %s: it was told so by the protocol's own error",
		cmp.Or(clip(e.requested), "no revision"), strings.Join(e.supported, " and "))
}

// body returns the error as the protocol has it.
func (e *revisionError) body() []byte {
	message := fmt.Sprintf("Unsupported protocol version %s: this is a recording of %s", cmp.Or(e.requested, "(none)"), strings.Join(e.supported, " and "))
	body, _ := json.Marshal(struct { // nothing in it that cannot be marshaled
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data"`
	}{unsupportedRevision, message, map[string]any{"requested": e.requested, "supported": e.supported}})
	return append([]byte(`"error":`), body...)
}

// negotiated says of a handshake that names another revision than the recorded one
// how it was answered; "" of every other.
func (c *clientMsg) negotiated() string {
	if c.msg().Method != methodInitialize || c.answer == nil {
		return ""
	}
	was, _ := text(transport.Member(c.msg().Params, "protocolVersion"))
	is, _ := text(transport.Member(c.live.Params, "protocolVersion"))
	if was == is {
		return ""
	}
	return fmt.Sprintf("the client speaks %s, the recorded one %s; it got the recorded answer", cmp.Or(clip(is), "no revision"), cmp.Or(clip(was), "no revision"))
}

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
	shown := discovery{capabilities: map[string]map[string]bool{}}
	for _, c := range p.clientMsgs {
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
	meta := map[string]any{}
	if shown.server != nil {
		meta[serverInfo] = shown.server
	}
	result, _ := json.Marshal(map[string]any{ // nothing in it that cannot be marshaled
		"resultType": "complete", "_meta": meta, "ttlMs": 0, "cacheScope": "private",
		"supportedVersions": p.revisions.settled, "capabilities": shown.capabilities,
	})
	return append([]byte(`"result":`), result...)
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
	if d.capabilities[group] == nil {
		d.capabilities[group] = map[string]bool{}
	}
	if special != "" {
		d.capabilities[group][special] = true
	}
}
