package standin

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// playerMatcher finds the recorded message that a live message of the client stands for.
type playerMatcher struct {
	*playerScript
	rules     match.Rules
	variables *match.Variables
	revisions revisions
	requests  map[match.Key][]*clientMsg // each queue in recorded order
	masked    map[string][]*clientMsg    // requests with a masked secret, by method
	inOrder   []*clientMsg               // of match.ByOrder: the requests that are left
	others    map[string][]*clientMsg    // notifications by method; stray answers and noise by their keys
	preferID  bool                       // of equal requests takes the one with the live id
}

// addRequest adds a recorded request.
func (p *playerMatcher) addRequest(c *clientMsg) {
	m := c.msg()
	if bytes.Contains(m.Params, []byte("[redacted:")) {
		p.masked[m.Method] = append(p.masked[m.Method], c)
	}
	if p.rules.By == match.ByOrder && !match.MatchedByMethod(m.Method) {
		p.inOrder = append(p.inOrder, c)
	}
	if key, err := p.rules.Key(m); err == nil {
		p.requests[key] = append(p.requests[key], c)
		c.nth = len(p.requests[key])
	}
}

// addOther adds a recorded message that is no request.
func (p *playerMatcher) addOther(key string, c *clientMsg) { p.others[key] = append(p.others[key], c) }

// request returns the client message that a live request stands for, nil if none is left,
// and the queue that it belongs to.
func (p *playerMatcher) request(m transport.Message) (*clientMsg, match.Key, error) {
	if err := p.revisions.refuse(m); err != nil {
		return nil, "", err
	}
	if !p.variables.IsEmpty() { // the recorded client's values, as in the key of its request
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
	c := p.first(queue, m)
	if c == nil && p.rules.Match == nil { // equal but for a masked secret
		i := slices.IndexFunc(p.masked[m.Method], func(c *clientMsg) bool { return !c.arrived && p.isEqual(c, m) })
		if i >= 0 {
			c = p.masked[m.Method][i]
		}
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

// first returns the first of a queue of equal requests that is left. If they come in any
// order it prefers the one with the live id, because a recorded client keeps its ids.
func (p *playerMatcher) first(queue []*clientMsg, m transport.Message) *clientMsg {
	if p.preferID {
		for _, c := range queue {
			if !c.arrived && mcp.Same(c.msg().ID, m.ID) {
				return c
			}
		}
	}
	return firstLeft(queue)
}

// firstLeft returns the first message that has not come, or nil.
func firstLeft(queue []*clientMsg) *clientMsg {
	for _, c := range queue {
		if !c.arrived {
			return c
		}
	}
	return nil
}

func (p *playerMatcher) isEqual(c *clientMsg, m transport.Message) bool {
	return p.rules.Compare(c.msg(), m, p.variables).Same()
}

// miss says why no recorded request answers m, which one is nearest, and how that differs.
func (p *playerMatcher) miss(m transport.Message, key match.Key, err error) match.StepVerdict {
	v := match.StepVerdict{What: about(m), Text: "no recorded answer for " + phrase.Name(m.Method)}
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
	v.Seq, v.Differences, v.More, v.Mapped = nearest.seq, how.Differences, how.More, how.Mapped
	if how.Same() {
		v.Text += fmt.Sprintf("; nearest is #%d: the matcher tells them apart", v.Seq)
	} else {
		v.Text += fmt.Sprintf("; nearest is #%d: %s", v.Seq, how.Sentence())
	}
	return v
}

// nearestOf is the number of recorded requests that a miss is compared with.
const nearestOf = 500

// nearest returns the recorded request of the same method that differs least. Requests for
// the same tool, prompt or resource go before all others, and only the first nearestOf are
// compared. If two differ as much, a request that was not asked yet is nearer.
func (p *playerMatcher) nearest(m transport.Message) (nearest *clientMsg, how match.Comparison) {
	var same, others []*clientMsg
	target := timeline.TargetOf(m)
	for _, c := range p.clientMsgs {
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

// notification returns the client message that a live notification stands for: among the
// first few of its method that are left, the equal one; or else the first that was not
// skipped, or the first.
func (p *playerMatcher) notification(m transport.Message) (first *clientMsg) {
	queue := left(p.others[m.Method], func(c *clientMsg) bool { return c.arrived })
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

// lookahead is the number of recorded messages that a live one is compared with.
const lookahead = 16

// left returns a queue without the first few messages that have arrived. A message that does
// not come stays in front, and must not take the places of the others.
func left[E any](queue []E, arrived func(E) bool) []E {
	at := min(len(queue), lookahead)
	for i := at - 1; i >= 0; i-- {
		if !arrived(queue[i]) {
			at--
			queue[at] = queue[i]
		}
	}
	return queue[at:]
}

// about names a request or notification and its target.
func about(m transport.Message) string {
	if name := timeline.TargetOf(m); name != "" {
		return phrase.Name(m.Method) + " " + phrase.Name(name)
	}
	return phrase.Name(m.Method)
}
