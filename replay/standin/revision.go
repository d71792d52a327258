package standin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
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

// revisions are those of a recording.
type revisions struct {
	handshake bool     // initialize was recorded
	stated    []string // named by requests
	settled   []string // by an answer to initialize, or by a request that was not refused
}

// noteRevisions gathers the revisions that the recording is of.
func (p *playerMatcher) noteRevisions() {
	r := &p.revisions
	for _, c := range p.clientMsgs {
		m := c.msg()
		v, stated := timeline.StringOf(transport.Member(m.Params, mcp.MemberMeta, mcp.MetaProtocolVersion))
		switch {
		case m.Kind() != transport.Request:
		case m.Method == mcp.MethodInitialize:
			r.handshake = true
			if v, ok := timeline.StringOf(transport.Member(c.response().Result, mcp.MemberProtocolVersion)); ok && !slices.Contains(r.settled, v) {
				r.settled = append(r.settled, v)
			}
		case stated && !slices.Contains(r.settled, v):
			if !slices.Contains(r.stated, v) {
				r.stated = append(r.stated, v)
			}
			if c.response().Error == nil {
				r.settled = append(r.settled, v)
			}
		}
	}
}

// refuse returns the error for a live request of a revision that was not recorded;
// nil for every other.
func (r *revisions) refuse(m transport.Message) *revisionError {
	if len(r.settled) == 0 {
		return nil
	}
	if m.Method == mcp.MethodInitialize {
		if r.handshake {
			return nil
		}
		v, _ := timeline.StringOf(transport.Member(m.Params, mcp.MemberProtocolVersion))
		return &revisionError{v, r.settled}
	}
	v, ok := timeline.StringOf(transport.Member(m.Params, mcp.MemberMeta, mcp.MetaProtocolVersion))
	if !ok || slices.Contains(r.stated, v) || slices.Contains(r.settled, v) || m.Method == mcp.MethodDiscover && len(r.stated) == 0 {
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
		cmp.Or(phrase.Name(e.requested), "no revision"), strings.Join(e.supported, " and "))
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
	if c.msg().Method != mcp.MethodInitialize || c.answer == nil {
		return ""
	}
	was, _ := timeline.StringOf(transport.Member(c.msg().Params, mcp.MemberProtocolVersion))
	is, _ := timeline.StringOf(transport.Member(c.live.Params, mcp.MemberProtocolVersion))
	if was == is {
		return ""
	}
	return fmt.Sprintf("the client speaks %s, the recorded one %s; it got the recorded answer", cmp.Or(phrase.Name(is), "no revision"), cmp.Or(phrase.Name(was), "no revision"))
}

// discover answers a server/discover that has no recorded answer left. A client may
// probe for it with a server of its own, which is another session, and a recording
// then has none:
//
//   - what was recorded once is said again;
//   - a recording whose requests name their revision is described as far as it shows
//     what its server can: the client would fall back to a handshake otherwise, which
//     that server does not know;
//   - any other answers as a server does that is older than the method.
func (p *playerMatcher) discover() []byte {
	meta := map[string]any{}
	capabilities := map[string]map[string]bool{}
	can := func(group, special string) {
		if capabilities[group] == nil {
			capabilities[group] = map[string]bool{}
		}
		if special != "" {
			capabilities[group][special] = true
		}
	}
	for _, c := range p.clientMsgs {
		m, answer := c.msg(), c.response()
		if m.Method == mcp.MethodListen {
			for member, c := range map[string][2]string{
				"toolsListChanged":      {"tools", "listChanged"},
				"promptsListChanged":    {"prompts", "listChanged"},
				"resourcesListChanged":  {"resources", "listChanged"},
				"resourceSubscriptions": {"resources", "subscribe"},
			} {
				if transport.Member(m.Params, "notifications", member) != nil {
					can(c[0], c[1])
				}
			}
		}
		if m.Kind() != transport.Request || answer.Result == nil {
			continue
		}
		if m.Method == mcp.MethodDiscover {
			return append([]byte(`"result":`), answer.Result...)
		}
		if server := transport.Member(answer.Result, mcp.MemberMeta, mcp.MetaServerInfo); server != nil && meta[mcp.MetaServerInfo] == nil {
			meta[mcp.MetaServerInfo] = server
		}
		group, _, _ := strings.Cut(m.Method, "/")
		switch group {
		case "tools", "prompts", "resources":
			can(group, "")
		case "completion":
			can("completions", "")
		}
	}
	if len(p.revisions.stated) == 0 {
		return []byte(`"error":{"code":-32601,"message":"Method not found"}`)
	}
	result, _ := json.Marshal(map[string]any{ // nothing in it that cannot be marshaled
		mcp.MemberResultType: "complete", mcp.MemberMeta: meta, "ttlMs": 0, "cacheScope": "private",
		"supportedVersions": p.revisions.settled, "capabilities": capabilities,
	})
	return append([]byte(`"result":`), result...)
}
