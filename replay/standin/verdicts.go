package standin

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// judged is a verdict and where it stands: after what was recorded up to seq.
type judged struct {
	match.StepVerdict
	seq uint64
	// grave: the live end asked or answered something else than the recorded one, and
	// not only told it otherwise.
	grave bool
}

// inOrder returns the verdicts of a session, in recorded order, extras where they
// came.
func inOrder(list []judged) []match.StepVerdict {
	slices.SortStableFunc(list, func(a, b judged) int {
		return cmp.Compare(a.seq, b.seq)
	})
	verdicts := make([]match.StepVerdict, len(list))
	for i, j := range list {
		verdicts[i] = j.StepVerdict
	}
	return verdicts
}

// grave returns the verdicts on which an end asked or answered something else.
func grave(list []judged) []match.StepVerdict {
	var verdicts []match.StepVerdict
	for _, j := range list {
		if j.grave {
			verdicts = append(verdicts, j.StepVerdict)
		}
	}
	return verdicts
}

// compared fills in how the live message of a step compares with the recorded one.
func (j *judged) compared(c match.Comparison, order string) {
	v := &j.StepVerdict
	v.Result, v.Differences, v.More, v.Mapped, v.Order = match.Match, c.Differences, c.More, c.Mapped, order
	if c.Same() && order == "" {
		return
	}
	v.Result = match.Mismatch
	var parts []string
	if !c.Same() {
		parts = append(parts, c.Sentence())
	}
	if order != "" {
		parts = append(parts, order)
	}
	v.Text = fmt.Sprintf("#%d, %s, %s", v.Seq, v.What, strings.Join(parts, "; "))
}

// Verdicts returns the verdict on each message of the server, as if the session ended now: in
// recorded order, extra messages where they came.
func (d *Driver) Verdicts() []match.StepVerdict { return inOrder(d.judge()) }

// Close returns the verdicts on which the live server did not ask or answer as the recorded
// server did. Its notifications, and the order of its messages, are in Verdicts.
func (d *Driver) Close() []match.StepVerdict { return grave(d.judge()) }

func (d *Driver) judge() []judged {
	var list []judged
	for _, t := range d.serverMsgs {
		if v, ok := d.judgeServerMsg(t); ok {
			list = append(list, v)
		}
	}
	for _, l := range d.clientFrames {
		if !l.sent && (l.question == nil || l.question.arrived) {
			list = append(list, judged{seq: l.seq, grave: true, StepVerdict: match.StepVerdict{
				Result: match.NotSent, Seq: l.seq, Dir: transport.ClientToServer, What: l.what(),
				Text: fmt.Sprintf("#%d %s was still waiting for the server", l.seq, l.what()),
			}})
		}
	}
	list = append(list, d.noises.judge(transport.ServerToClient, "server")...)
	return append(list, d.findings...)
}

// judgeServerMsg returns the verdict on a server message; none on an answer that was not
// asked for, or was called off.
func (d *Driver) judgeServerMsg(t *serverMsg) (j judged, ok bool) {
	j = judged{seq: t.seq, StepVerdict: match.StepVerdict{Seq: t.seq, Dir: transport.ServerToClient, What: t.what(), Result: match.Missing}}
	switch {
	case t.arrived:
		c := d.rules.Compare(t.msg(), *t.live, d.variables)
		if by := d.rules.By; t.msg().Kind() == transport.Request && (by == match.ByMethod || by == match.ByOrder) {
			c = c.AsMapped(by.String())
		}
		order := t.misplaced()
		// A message that differs may stand for the wrong one; two HTTP streams have no order.
		if o := t.overtaken; order == "" && c.Same() && o != nil && t.liveOn == o.liveOn {
			order = fmt.Sprintf("came after #%d, %s; recorded before it", o.seq, o.what())
		}
		if order != "" && d.rules.AnyOrder {
			c.Mapped, order = append(c.Mapped, match.Mapping{By: "order", Got: order}), ""
		}
		j.compared(c, order)
		j.grave = t.request != nil && !c.Same()
	case t.request != nil && (!t.request.line.sent || t.request.cancelled): // who is told that nobody waits need not answer
		return j, false
	case t.request != nil || t.isStray():
		j.grave, j.Text = true, fmt.Sprintf("#%d, %s, did not come", t.seq, t.what())
	case t.msg().Kind() == transport.Request:
		j.grave, j.Text = true, fmt.Sprintf("#%d %s was not asked", t.seq, t.what())
	default:
		j.Text = fmt.Sprintf("#%d %s did not come", t.seq, t.what())
	}
	return j, true
}

// extra notes what nobody recorded.
func (d *Driver) extra(what, text string, grave bool) {
	d.findings = append(d.findings, judged{seq: d.reached, grave: grave, StepVerdict: match.StepVerdict{
		Result: match.Extra, Dir: transport.ServerToClient, What: what, Text: text,
	}})
}

// Verdicts returns the verdict on each message of the client, as if the session ended now: in
// recorded order, extra messages where they came.
func (p *Player) Verdicts() []match.StepVerdict { return inOrder(p.judge()) }

// Close returns the verdicts on which the live client got no recorded answer, or did not ask
// or answer as the recorded client did. The content of its answers, and its notifications,
// are in Verdicts.
func (p *Player) Close() []match.StepVerdict { return grave(p.judge()) }

func (p *Player) judge() []judged {
	var list []judged
	for _, c := range p.clientMsgs {
		if v, ok := p.judgeClientMsg(c); ok {
			list = append(list, v)
		}
		if c.arrived && c.answer != nil && !c.answer.sent {
			list = append(list, judged{seq: c.answer.seq, grave: true, StepVerdict: match.StepVerdict{
				Result: match.NotSent, Seq: c.answer.seq, Dir: transport.ServerToClient, What: "the answer to " + about(c.msg()),
				Text: fmt.Sprintf("#%d, the answer to %s, was still waiting for the client", c.answer.seq, about(c.msg())),
			}})
		}
	}
	list = append(list, p.noises.judge(transport.ClientToServer, "client")...)
	return append(list, p.findings...)
}

// judgeClientMsg returns the verdict on a client message; none on the answer to what was
// not asked.
func (p *Player) judgeClientMsg(c *clientMsg) (j judged, ok bool) {
	j = judged{seq: c.seq, StepVerdict: match.StepVerdict{Seq: c.seq, Dir: transport.ClientToServer, What: c.what(), Result: match.Missing}}
	switch {
	case c.arrived:
		j.compared(p.compare(c), "")
		if text := c.negotiated(); text != "" {
			j.Text = fmt.Sprintf("#%d, %s: %s", c.seq, c.what(), text)
		}
	case c.msg().Kind() == transport.Request:
		j.grave, j.Text = true, fmt.Sprintf("#%d %s was not asked", c.seq, c.what())
	case c.answers != nil:
		if !c.answers.reply.sent || c.answers.done {
			return j, false
		}
		j.grave, j.Text = c.timedOut, fmt.Sprintf("#%d, %s, was not given", c.seq, c.what())
	case c.msg().Kind() != transport.Notification:
		return j, false // noise, or an answer to no question
	default:
		j.Text = fmt.Sprintf("#%d %s did not come", c.seq, c.what())
	}
	return j, true
}

// compare compares a client message with the live message that stands for it.
func (p *Player) compare(c *clientMsg) match.Comparison {
	result := p.rules.Compare(c.msg(), *c.live, p.variables)
	was, is := c.msg().ProgressToken(), c.live.ProgressToken()
	if c.msg().Method == mcp.NotificationProgress && !mcp.Same(was, is) && !p.rules.Ignores([]string{"params", mcp.MemberProgressToken}) {
		result.Differences = append(result.Differences, match.Difference{Path: "/params/progressToken", Want: phrase.Name(string(was)), Got: cmp.Or(phrase.Name(string(is)), "nothing")})
	}
	switch {
	case c.msg().Kind() != transport.Request || match.MatchedByMethod(c.msg().Method):
		return result
	case p.rules.Match != nil:
		return result.AsMapped("matcher")
	case p.rules.By == match.ByMethod || p.rules.By == match.ByOrder:
		return result.AsMapped(p.rules.By.String())
	}
	return result
}

// extra notes what nobody recorded.
func (p *Player) extra(what, text string, grave bool) {
	p.extraNear(match.StepVerdict{What: what, Text: text}, grave)
}

// extraNear is extra with the recorded request that is nearest.
func (p *Player) extraNear(v match.StepVerdict, grave bool) {
	v.Result, v.Dir = match.Extra, transport.ClientToServer
	p.findings = append(p.findings, judged{seq: p.reached, grave: grave, StepVerdict: v})
}

// noises counts an end's frames that hold no message, but for those that are a client
// message.
type noises struct {
	recorded, live int
	first          string // of the live ones
	after          uint64 // Seq of what was recorded before that
}

func (n *noises) add(f transport.Frame, reached uint64) {
	if n.live++; n.live == 1 {
		n.first, n.after = phrase.Name(string(bytes.TrimSpace(f.Bytes))), reached
	}
}

// judge returns the verdict on the live end's frames that hold no message; none if
// the recorded end said as many.
func (n *noises) judge(dir transport.Direction, end string) []judged {
	if n.live <= n.recorded {
		return nil
	}
	return []judged{{seq: n.after, grave: true, StepVerdict: match.StepVerdict{
		Result: match.Extra, Dir: dir, What: noiseMethod,
		Text: fmt.Sprintf("%s of the %s, no JSON-RPC message each, passed over; the first: %s", phrase.Plural(n.live, "line"), end, n.first),
	}}}
}

// misplaced says on which side of the answer to its call the live message came,
// if that is not the recorded one.
func (t *serverMsg) misplaced() string {
	r := t.owner
	if r == nil {
		r = t.follows
	}
	if t.came == 0 || r == nil || r.cancelled || r.response == nil || r.response.came == 0 {
		return ""
	}
	if t.on != r.response.on || t.liveOn != r.response.liveOn {
		return "" // two HTTP streams have no order
	}
	before, live := t.index < r.response.index, t.came < r.response.came
	if before == live || t.owner == nil && t.alone != r {
		return ""
	}
	how, was := "after", "before"
	if live {
		how, was = was, how
	}
	return fmt.Sprintf("came %s #%d, %s; recorded %s it", how, r.response.seq, r.response.what(), was)
}
