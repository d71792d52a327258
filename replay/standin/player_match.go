package standin

import (
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

// matchRequest returns the client message that a live request stands for, nil if there is
// none left, and the queue that it belongs to.
func (p *Player) matchRequest(m transport.Message) (*clientMsg, match.Key, error) {
	if err := p.revisions.refuse(m); err != nil {
		return nil, "", err
	}
	if !p.variables.IsEmpty() { // as the recorded client would have put them
		m.Params = p.variables.Inverse().SubstituteParams(m.Params)
	}
	key, err := p.rules.Key(m)
	if err != nil {
		return nil, key, err
	}
	for len(p.requests[key]) > 1 && p.requests[key][0].arrived {
		p.requests[key] = p.requests[key][1:] // the last stays, for clients that ask again
	}
	c := p.pick(p.requests[key], m)
	if c == nil {
		c = p.unmask(m)
	}
	if c != nil && p.rules.By == match.ByOrder && !match.MatchedByMethod(m.Method) && c != p.nextInOrder() {
		return nil, key, fmt.Errorf("the recorded client asks for %s next, as #%d", about(p.nextInOrder().msg()), p.nextInOrder().seq)
	}
	return c, key, nil
}

// unmask returns the first client message left whose params are the live ones but for what
// is redacted.
func (p *Player) unmask(m transport.Message) *clientMsg {
	if p.rules.Match != nil {
		return nil
	}
	for _, c := range p.masked[m.Method] {
		if !c.arrived && p.rules.Compare(c.msg(), m, p.variables).Same() {
			return c
		}
	}
	return nil
}

// nextInOrder returns the next request in recorded order.
func (p *Player) nextInOrder() *clientMsg {
	for len(p.queue) > 0 && p.queue[0].arrived {
		p.queue = p.queue[1:]
	}
	if len(p.queue) == 0 {
		return nil
	}
	return p.queue[0]
}

// miss says why nothing recorded answers m, which recorded request is nearest, and
// how that differs.
func (p *Player) miss(m transport.Message, key match.Key, err error) match.StepVerdict {
	v := match.StepVerdict{What: about(m), Text: "no recorded answer for " + phrase.Name(m.Method)}
	if err != nil {
		v.Text += fmt.Sprintf(": %v", err)
		return v
	}
	if used := p.requests[key]; len(used) > 0 {
		v.Seq = used[len(used)-1].seq
		times := "once"
		if n := used[len(used)-1].nth; n > 1 {
			times = strconv.Itoa(n) + " times"
		}
		v.Text = fmt.Sprintf("no recorded answer left for %s: it was recorded %s, last as #%d", phrase.Name(m.Method), times, v.Seq)
		return v
	}
	nearest, how := p.nearest(m)
	if nearest == nil {
		v.Text += ": no request of that method was recorded"
		return v
	}
	first := []string{"/params/name", "/params/uri"} // of another tool the arguments differ anyhow
	slices.SortStableFunc(how.Differences, func(a, b match.Difference) int {
		return cmp.Compare(slices.Index(first, b.Path), slices.Index(first, a.Path))
	})
	v.Seq, v.Differences, v.More, v.Mapped = nearest.seq, how.Differences, how.More, how.Mapped
	if how.Same() {
		v.Text += fmt.Sprintf("; nearest is #%d: the matcher tells them apart", v.Seq)
		return v
	}
	v.Text += fmt.Sprintf("; nearest is #%d: %s", v.Seq, how.Sentence())
	return v
}

// nearestOf is how many recorded requests a miss is compared with.
const nearestOf = 500

// nearest returns the recorded request of the same method that differs least. Requests for
// the same tool, prompt or resource go before all others, and only the first nearestOf are
// compared. Of two that differ as much it is the request that was not asked yet.
func (p *Player) nearest(m transport.Message) (nearest *clientMsg, how match.Comparison) {
	var same, others []*clientMsg
	about := timeline.TargetOf(m)
	for _, c := range p.clientMsgs {
		switch recorded := c.msg(); {
		case recorded.Kind() != transport.Request || recorded.Method != m.Method:
		case timeline.TargetOf(recorded) == about:
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

// notified returns the client message that a live notification stands for: among the first
// few of its method that are left, the equal one; or else the first that was not skipped, or
// the first.
func (p *Player) notified(m transport.Message) (first *clientMsg) {
	queue := left(p.others[m.Method], func(c *clientMsg) bool { return c.arrived })
	p.others[m.Method] = queue
	for i, c := range queue {
		switch {
		case c.arrived || c.cancels != nil && (c.cancels.live == nil || !mcp.Same(c.cancels.live.ID, timeline.CancelledID(m))):
		case i < lookahead && mcp.Same(c.msg().ProgressToken(), m.ProgressToken()) && p.rules.Compare(c.msg(), m, p.variables).Same():
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

// lookahead is how many recorded messages are compared with a live one to find the
// one that it stands for.
const lookahead = 16

// left returns a queue without the first few that have arrived. A message that does not come
// stays in front, and must not take the places of the others.
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
