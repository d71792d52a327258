package replay

import (
	"cmp"
	"fmt"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// find returns the cue that a live request stands for, nil if there is none left,
// and the queue that it belongs to.
func (p *Player) find(m transport.Message) (*cue, Key, error) {
	if err := p.revisions.refuse(m); err != nil {
		return nil, "", err
	}
	m.Params = p.recordedParams(m.Params)
	key, err := p.rules.key(m)
	if err != nil {
		return nil, key, err
	}
	for len(p.requests[key]) > 1 && p.requests[key][0].arrived {
		p.requests[key] = p.requests[key][1:] // the last stays, for who asks again
	}
	c := p.pick(p.requests[key], m)
	if c == nil {
		c = p.unmask(m)
	}
	if c != nil && p.rules.By == ByOrder && !matchedByMethod(m.Method) && c != p.turn() {
		return nil, key, fmt.Errorf("the recorded client asks for %s next, as #%d", about(p.turn().msg()), p.turn().seq)
	}
	return c, key, nil
}

// recordedParams returns params as the recorded client would have put them: with
// the recorded values of what the live one made up.
func (p *Player) recordedParams(params []byte) []byte {
	if p.variables.isEmpty() {
		return params
	}
	return p.variables.inverse().respellParams(params)
}

// unmask returns the first cue left whose params are the live ones but for what is
// redacted.
func (p *Player) unmask(m transport.Message) *cue {
	if p.rules.Match != nil {
		return nil
	}
	for _, c := range p.masked[m.Method] {
		if !c.arrived && p.rules.compare(c.msg(), m, p.variables).count == 0 {
			return c
		}
	}
	return nil
}

// turn returns the next request in recorded order.
func (p *Player) turn() *cue {
	for len(p.queue) > 0 && p.queue[0].arrived {
		p.queue = p.queue[1:]
	}
	if len(p.queue) == 0 {
		return nil
	}
	return p.queue[0]
}

// Verdicts returns the verdict on each message of the client so far, as if it said
// no more: in recorded order, extras where they came.
func (p *Player) Verdicts() []StepVerdict { return inOrder(p.judge()) }

// Close returns the verdicts that say that the live client could not be served as
// the recorded one was, did not ask what that asked, or did not answer. What it
// answered, and told besides, is in Verdicts.
func (p *Player) Close() []StepVerdict { return grave(p.judge()) }

func (p *Player) judge() []judged {
	var list []judged
	for _, c := range p.cues {
		if v, ok := p.judgeCue(c); ok {
			list = append(list, v)
		}
		if c.arrived && c.answer != nil && !c.answer.sent {
			list = append(list, judged{seq: c.answer.seq, grave: true, StepVerdict: StepVerdict{
				Result: NotSent, Seq: c.answer.seq, Dir: transport.ServerToClient, What: "the answer to " + about(c.msg()),
				Text: fmt.Sprintf("#%d, the answer to %s, was still waiting for the client", c.answer.seq, about(c.msg())),
			}})
		}
	}
	list = append(list, p.noises.judge(transport.ClientToServer, "client")...)
	return append(list, p.findings...)
}

// judgeCue returns the verdict on a cue; none on the answer to what was not asked.
func (p *Player) judgeCue(c *cue) (j judged, ok bool) {
	j.seq, j.StepVerdict = c.seq, StepVerdict{Seq: c.seq, Dir: transport.ClientToServer, What: c.what(), Result: Missing}
	switch {
	case c.arrived:
		j.judge(p.compare(c), "")
		if text := c.negotiated(); text != "" {
			j.Text = fmt.Sprintf("#%d, %s: %s", c.seq, c.what(), text)
		}
	case c.msg().Kind() == transport.Request:
		j.grave, j.Text = true, fmt.Sprintf("#%d %s was not asked", c.seq, c.what())
	case c.answers != nil:
		if !c.answers.reply.sent || c.answers.done {
			return j, false
		}
		j.grave, j.Text = c.forgone, fmt.Sprintf("#%d, %s, was not given", c.seq, c.what())
	case c.msg().Kind() != transport.Notification:
		return j, false // noise, or an answer to no question
	default:
		j.Text = fmt.Sprintf("#%d %s did not come", c.seq, c.what())
	}
	return j, true
}

// compare compares a cue with the live message that stands for it.
func (p *Player) compare(c *cue) comparison {
	result := p.rules.compare(c.msg(), *c.live, p.variables)
	was, is := c.msg().ProgressToken(), c.live.ProgressToken()
	if c.msg().Method == methodProgress && !mcp.Same(was, is) && !p.rules.ignores([]string{"params", "progressToken"}) {
		result.count++
		result.differences = append(result.differences, Difference{Path: "/params/progressToken", Want: clip(string(was)), Got: cmp.Or(clip(string(is)), "nothing")})
	}
	switch {
	case c.msg().Kind() != transport.Request || matchedByMethod(c.msg().Method):
		return result
	case p.rules.Match != nil:
		return result.excused("matcher")
	case p.rules.By == ByMethod || p.rules.By == ByOrder:
		return result.excused(p.rules.By.String())
	}
	return result
}

// extra notes what nobody recorded.
func (p *Player) extra(what, text string, grave bool) {
	p.extraNear(StepVerdict{What: what, Text: text}, grave)
}

// extraNear is extra with the recorded request that is nearest.
func (p *Player) extraNear(v StepVerdict, grave bool) {
	v.Result, v.Dir = Extra, transport.ClientToServer
	p.findings = append(p.findings, judged{seq: p.reached, grave: grave, StepVerdict: v})
}

// withhold notes that a reply is not sent.
func (p *Player) withhold(r *reply, text string) {
	what := "a frame"
	if messages := messagesOf(r.frame); len(messages) > 0 {
		what = about(messages[0])
	}
	p.findings = append(p.findings, judged{seq: r.seq, grave: true, StepVerdict: StepVerdict{
		Result: NotSent, Seq: r.seq, Dir: transport.ServerToClient, What: what, Text: text,
	}})
}
