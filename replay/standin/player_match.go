package standin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// find returns the recorded client message for a live request, nil if the queue is empty, and
// the key of the queue.
func (p *Player) find(m transport.Message) (*message, match.Key, error) {
	if err := p.revisions.refuse(m); err != nil {
		return nil, "", err
	}
	if !p.variables.IsEmpty() { // the recorded client's values, as in the key of the request
		m.Params = p.variables.Inverse().SubstituteParams(m.Params)
	}
	key, err := p.rules.Key(m)
	if err != nil {
		return nil, key, err
	}
	queue := p.requests[key]
	for len(queue) > 1 && queue[0].arrived {
		queue = queue[1:] // the last stays, for clients that ask again
		p.requests[key] = queue
	}
	var c *message
	if p.reorders && !p.otherIDs { // equal requests come in any order; a recorded client keeps the ids
		c = firstLeft(queue, func(message *message) bool { return mcp.Same(message.msg().ID, m.ID) })
	}
	if c == nil {
		c = firstLeft(queue, nil)
	}
	if c == nil && p.rules.Match == nil { // equal but for a masked secret
		c = firstLeft(p.masked[m.Method], func(message *message) bool { return p.isEqual(message, m) })
	}
	if c == nil || p.rules.By != match.ByOrder || match.MatchedByMethod(m.Method) {
		return c, key, nil
	}
	for len(p.inOrder) > 0 && p.inOrder[0].arrived {
		p.inOrder = p.inOrder[1:]
	}
	if next := p.inOrder[0]; c != next {
		return nil, key, fmt.Errorf("the recorded client asks for %s next, as #%d", about(next.msg()), next.seq)
	}
	return c, key, nil
}

func (p *Player) isEqual(c *message, m transport.Message) bool {
	return p.rules.Compare(c.msg(), m, p.variables).Same()
}

// miss says why no recorded request answers m, and how the nearest recorded request differs.
func (p *Player) miss(m transport.Message, key match.Key, err error) match.StepVerdict {
	v := match.StepVerdict{What: about(m), Call: match.CallOf(m), Text: "no recorded answer for " + phrase.Name(m.Method)}
	if err != nil {
		v.Text += fmt.Sprintf(": %v", err)
		return v
	}
	if used := p.requests[key]; len(used) > 0 {
		last := used[len(used)-1]
		times := "once"
		if last.nth > 1 {
			times = strconv.Itoa(last.nth) + " times"
		}
		v.Seq = last.seq
		v.Text = fmt.Sprintf("no recorded answer left for %s: it was recorded %s, last as #%d", phrase.Name(m.Method), times, v.Seq)
		return v
	}
	nearest, how := p.nearest(m)
	if nearest == nil {
		v.Text += ": no request of that method was recorded"
		return v
	}
	first := []string{"/params/name", "/params/uri"} // another tool has other arguments anyhow
	slices.SortStableFunc(how.Differences, func(a, b match.Difference) int {
		return cmp.Compare(slices.Index(first, b.Path), slices.Index(first, a.Path))
	})
	v.Seq = nearest.seq
	v.Differences = how.Differences
	v.More = how.More
	v.Mapped = how.Mapped
	if how.Same() {
		v.Text += fmt.Sprintf("; nearest is #%d: the matcher tells them apart", v.Seq)
	} else {
		v.Text += fmt.Sprintf("; nearest is #%d: %s", v.Seq, how.Sentence())
	}
	return v
}

// nearestOf is the number of recorded requests to compare a miss with.
const nearestOf = 500

// nearest returns the most similar recorded request of the same method. Requests for the same
// tool, prompt or resource go before others, and only the first nearestOf are compared. Of two
// equals, a request still to be asked is nearer.
func (p *Player) nearest(m transport.Message) (nearest *message, how match.Comparison) {
	var same, others []*message
	target := timeline.TargetOf(m)
	for _, c := range p.messages {
		switch recorded := c.msg(); {
		case recorded.Kind() != transport.Request || recorded.Method != m.Method:
		case timeline.TargetOf(recorded) == target:
			same = append(same, c)
		default:
			others = append(others, c)
		}
	}
	if len(same) == 0 {
		same = others
	}
	for _, c := range same[:min(len(same), nearestOf)] {
		d := p.rules.Compare(c.msg(), m, p.variables)
		if nearest == nil || d.Count() < how.Count() || d.Count() == how.Count() && nearest.arrived && !c.arrived {
			nearest, how = c, d
		}
	}
	return nearest, how
}

// notification returns the client message for a live notification: among the first few left of
// the method, the equal message; or the first message not skipped, or the first.
func (p *Player) notification(m transport.Message) (first *message) {
	queue := left(p.others[m.Method], func(message *message) bool { return message.arrived })
	p.others[m.Method] = queue
	for i, c := range queue {
		switch {
		case c.arrived || c.cancels != nil && (c.cancels.live == nil || !mcp.Same(c.cancels.live.ID, timeline.CancelledID(m))):
		case i < lookahead && mcp.Same(c.msg().ProgressToken(), m.ProgressToken()) && p.isEqual(c, m):
			return c
		case first == nil || first.skipped && !c.skipped:
			first = c
		}
		if i >= lookahead && first != nil && !first.skipped {
			break
		}
	}
	return first
}

// revisions are the protocol revisions of a recording. Until 2025-11-25 the client names one
// in the handshake, and the server's answer settles it; from 2026-07-28 on every request names
// one. A live client of another revision is answered by the rules of the protocol:
//
//   - the handshake, if recorded, with the recorded answer, which names the recorded revision:
//     the client goes on with this revision, or leaves;
//   - a request that names another revision, and an unrecorded handshake, with
//     UnsupportedProtocolVersion, which names the recorded revisions: the client tries again
//     with a recorded revision;
//   - server/discover, if never recorded and no request named a revision, as by a server older
//     than the method: the client falls back to the handshake.
type revisions struct {
	handshake bool     // initialize was recorded
	stated    []string // named by requests
	settled   []string // by an answer to initialize, or by an accepted request
}

// unsupportedRevision is the error code for a revision unknown to a server.
const unsupportedRevision = -32022

func revisionsOf(script *script) (r revisions) {
	for _, c := range script.messages {
		m := c.msg()
		v, stated := transport.Text(transport.Member(m.Params, mcp.MemberMeta, mcp.MetaProtocolVersion))
		switch {
		case m.Kind() != transport.Request:
		case m.Method == mcp.MethodInitialize:
			r.handshake = true
			if v, ok := transport.Text(transport.Member(c.response().Result, mcp.MemberProtocolVersion)); ok && !slices.Contains(r.settled, v) {
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
	return r
}

// refuse returns the error for a live request of an unrecorded revision; nil for
// every other request.
func (r *revisions) refuse(m transport.Message) *revisionError {
	v, stated := transport.Text(transport.Member(m.Params, mcp.MemberMeta, mcp.MetaProtocolVersion))
	switch {
	case len(r.settled) == 0:
		return nil
	case m.Method == mcp.MethodInitialize:
		if r.handshake {
			return nil
		}
		v, _ = transport.Text(transport.Member(m.Params, mcp.MemberProtocolVersion))
	case !stated || slices.Contains(r.stated, v) || slices.Contains(r.settled, v) || m.Method == mcp.MethodDiscover && len(r.stated) == 0:
		return nil
	}
	return &revisionError{v, r.settled}
}

// revisionError is the error of a request with an unrecorded protocol revision.
type revisionError struct {
	requested string
	supported []string
}

// Error words the protocol's error for a report.
func (e *revisionError) Error() string {
	return fmt.Sprintf("the client speaks %s, the recording %s: it learnt that from the protocol's own error",
		cmp.Or(phrase.Name(e.requested), "no revision"), strings.Join(e.supported, " and "))
}

// body returns the error as the protocol has it.
func (e *revisionError) body() []byte {
	message := fmt.Sprintf("Unsupported protocol version %s: this is a recording of %s", cmp.Or(e.requested, "(none)"), strings.Join(e.supported, " and "))
	body, _ := json.Marshal(struct { // every value can be marshaled
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data"`
	}{unsupportedRevision, message, map[string]any{"requested": e.requested, "supported": e.supported}})
	return append([]byte(`"error":`), body...)
}

// discover answers a server/discover without a recorded answer. A client may probe with a
// separate server process, which is another session, and the recording then has no probe:
//
//   - a recorded answer is said again;
//   - of a recording with the revision in each request, the answer lists the capabilities
//     shown by the recording: otherwise the client would fall back to a handshake, unknown to
//     the server;
//   - any other recording answers as a server older than the method.
func (p *Player) discover() []byte {
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
	for _, c := range p.messages {
		m := c.msg()
		answer := c.response()
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
	result, _ := json.Marshal(map[string]any{ // every value can be marshaled
		mcp.MemberResultType: "complete", mcp.MemberMeta: meta, "ttlMs": 0, "cacheScope": "private",
		"supportedVersions": p.revisions.settled, "capabilities": capabilities,
	})
	return append([]byte(`"result":`), result...)
}
