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

// judged is a verdict and its place in the session.
type judged struct {
	match.StepVerdict
	seq   uint64 // of the recorded event that the verdict follows
	fault bool   // the live end asked or answered otherwise than the recorded end; false: it only told otherwise
}

// inOrder returns the verdicts of a session in recorded order, extra messages where they
// came.
func inOrder(list []judged) []match.StepVerdict {
	slices.SortStableFunc(list, func(a, b judged) int { return cmp.Compare(a.seq, b.seq) })
	verdicts := make([]match.StepVerdict, len(list))
	for i, j := range list {
		verdicts[i] = j.StepVerdict
	}
	return verdicts
}

// faults returns the verdicts on which an end asked or answered otherwise.
func faults(list []judged) []match.StepVerdict {
	var verdicts []match.StepVerdict
	for _, j := range list {
		if j.fault {
			verdicts = append(verdicts, j.StepVerdict)
		}
	}
	return verdicts
}

// compared fills in how the live message of a step compares with the recorded one.
func (j *judged) compared(c match.Comparison, order string) {
	j.Result, j.Differences, j.More, j.Mapped, j.Order = match.Match, c.Differences, c.More, c.Mapped, order
	if c.Same() && order == "" {
		return
	}
	j.Result = match.Mismatch
	var parts []string
	if !c.Same() {
		parts = append(parts, c.Sentence())
	}
	if order != "" {
		parts = append(parts, order)
	}
	j.Text = fmt.Sprintf("#%d, %s, %s", j.Seq, j.What, strings.Join(parts, "; "))
}

// findings are the verdicts on messages of a live end that nobody recorded.
type findings struct {
	dir     transport.Direction // of the live end's messages
	list    []judged
	reached uint64 // Seq of the latest recorded message that came
	noise   struct {
		recorded, live int    // frames of the end, except for noise that is a client message
		first          string // of the live ones
		after          uint64 // Seq of the message that had come before it
	}
}

// reach notes that a recorded message has come.
func (f *findings) reach(seq uint64) { f.reached = max(f.reached, seq) }

// extra adds a message that nobody recorded.
func (f *findings) extra(what, text string, fault bool) {
	f.add(match.StepVerdict{What: what, Text: text}, fault)
}

// add is extra for a verdict that names the nearest recorded message.
func (f *findings) add(v match.StepVerdict, fault bool) {
	v.Result, v.Dir = match.Extra, f.dir
	f.list = append(f.list, judged{seq: f.reached, fault: fault, StepVerdict: v})
}

// addNoise adds a frame without a message.
func (f *findings) addNoise(frame transport.Frame) {
	f.noise.live++
	if f.noise.live == 1 {
		f.noise.first, f.noise.after = phrase.Name(string(bytes.TrimSpace(frame.Bytes))), f.reached
	}
}

// all returns the verdict on the noise, if the live end said more than the recorded end, and
// then the findings.
func (f *findings) all() []judged {
	if f.noise.live <= f.noise.recorded {
		return f.list
	}
	noise := judged{seq: f.noise.after, fault: true, StepVerdict: match.StepVerdict{
		Result: match.Extra, Dir: f.dir, What: noiseMethod,
		Text: fmt.Sprintf("%s of the %s, no JSON-RPC message each, passed over; the first: %s", phrase.Plural(f.noise.live, "line"), f.dir.Sender(), f.noise.first),
	}}
	return append([]judged{noise}, f.list...)
}

// Verdicts returns the verdict on each message of the server, as if the session ended now: in
// recorded order, extra messages where they came.
func (d *Driver) Verdicts() []match.StepVerdict { return inOrder(d.judge()) }

// Close returns the verdicts on which the live server did not ask or answer as the recorded
// server did. Its notifications, and the order of its messages, are in Verdicts.
func (d *Driver) Close() []match.StepVerdict { return faults(d.judge()) }

func (d *Driver) judge() []judged {
	var list []judged
	for _, s := range d.serverMsgs {
		if v, ok := d.judgeServerMsg(s); ok {
			list = append(list, v)
		}
	}
	for _, f := range d.clientFrames {
		if !f.sent && (f.question == nil || f.question.arrived) {
			list = append(list, judged{seq: f.seq, fault: true, StepVerdict: match.StepVerdict{
				Result: match.NotSent, Seq: f.seq, Dir: transport.ClientToServer, What: f.what(),
				Text: fmt.Sprintf("#%d %s was still waiting for the server", f.seq, f.what()),
			}})
		}
	}
	return append(list, d.findings.all()...)
}

// judgeServerMsg returns the verdict on a server message. There is none on an answer that was
// not asked for, or was called off.
func (d *Driver) judgeServerMsg(s *serverMsg) (j judged, ok bool) {
	j = judged{seq: s.seq, StepVerdict: match.StepVerdict{Seq: s.seq, Dir: transport.ServerToClient, What: s.what(), Result: match.Missing}}
	rules := d.matcher.rules
	switch {
	case s.arrived:
		c := rules.Compare(s.msg(), *s.live, d.variables)
		if s.msg().Kind() == transport.Request && (rules.By == match.ByMethod || rules.By == match.ByOrder) {
			c = c.AsMapped(rules.By.String())
		}
		order := s.misplaced()
		// A message that differs may stand for the wrong one; two HTTP streams have no order.
		if o := s.overtaken; order == "" && c.Same() && o != nil && s.stream == o.stream {
			order = fmt.Sprintf("came after #%d, %s; recorded before it", o.seq, o.what())
		}
		if order != "" && rules.AnyOrder {
			c.Mapped, order = append(c.Mapped, match.Mapping{By: "order", Got: order}), ""
		}
		j.compared(c, order)
		j.fault = s.request != nil && !c.Same()
	case s.request != nil && (!s.request.frame.sent || s.request.cancelled): // a cancelled request needs no answer
		return j, false
	case s.request != nil || s.isStray():
		j.fault, j.Text = true, fmt.Sprintf("#%d, %s, did not come", s.seq, s.what())
	case s.msg().Kind() == transport.Request:
		j.fault, j.Text = true, fmt.Sprintf("#%d %s was not asked", s.seq, s.what())
	default:
		j.Text = fmt.Sprintf("#%d %s did not come", s.seq, s.what())
	}
	return j, true
}

// misplaced says on which side of the answer to its call the live message came, if the
// recorded message was on the other side.
func (s *serverMsg) misplaced() string {
	r := s.owner
	if r == nil {
		r = s.follows
	}
	if s.came == 0 || r == nil || r.cancelled || r.response == nil || r.response.came == 0 {
		return ""
	}
	if s.exchange != r.response.exchange || s.stream != r.response.stream {
		return "" // two HTTP streams have no order
	}
	before, live := s.index < r.response.index, s.came < r.response.came
	if before == live || s.owner == nil && s.alone != r {
		return ""
	}
	how, was := "after", "before"
	if live {
		how, was = was, how
	}
	return fmt.Sprintf("came %s #%d, %s; recorded %s it", how, r.response.seq, r.response.what(), was)
}

// Verdicts returns the verdict on each message of the client, as if the session ended now: in
// recorded order, extra messages where they came.
func (p *Player) Verdicts() []match.StepVerdict { return inOrder(p.judge()) }

// Close returns the verdicts on which the live client got no recorded answer, or did not ask
// or answer as the recorded client did. The content of its answers, and its notifications,
// are in Verdicts.
func (p *Player) Close() []match.StepVerdict { return faults(p.judge()) }

func (p *Player) judge() []judged {
	var list []judged
	for _, c := range p.clientMsgs {
		if v, ok := p.judgeClientMsg(c); ok {
			list = append(list, v)
		}
		if c.arrived && c.answer != nil && !c.answer.sent {
			list = append(list, judged{seq: c.answer.seq, fault: true, StepVerdict: match.StepVerdict{
				Result: match.NotSent, Seq: c.answer.seq, Dir: transport.ServerToClient, What: "the answer to " + about(c.msg()),
				Text: fmt.Sprintf("#%d, the answer to %s, was still waiting for the client", c.answer.seq, about(c.msg())),
			}})
		}
	}
	return append(list, p.findings.all()...)
}

// judgeClientMsg returns the verdict on a client message. There is none on noise, or on an
// answer that was not asked for.
func (p *Player) judgeClientMsg(c *clientMsg) (j judged, ok bool) {
	j = judged{seq: c.seq, StepVerdict: match.StepVerdict{Seq: c.seq, Dir: transport.ClientToServer, What: c.what(), Result: match.Missing}}
	switch {
	case c.arrived:
		j.compared(p.matcher.compare(c), "")
		if text := c.negotiated(); text != "" {
			j.Text = fmt.Sprintf("#%d, %s: %s", c.seq, c.what(), text)
		}
	case c.msg().Kind() == transport.Request:
		j.fault, j.Text = true, fmt.Sprintf("#%d %s was not asked", c.seq, c.what())
	case c.answers != nil:
		if !c.answers.frame.sent || c.answers.done {
			return j, false
		}
		j.fault, j.Text = c.timedOut, fmt.Sprintf("#%d, %s, was not given", c.seq, c.what())
	case c.msg().Kind() != transport.Notification:
		return j, false
	default:
		j.Text = fmt.Sprintf("#%d %s did not come", c.seq, c.what())
	}
	return j, true
}

// compare compares a client message with the live message that stands for it.
func (p *playerMatcher) compare(c *clientMsg) match.Comparison {
	result := p.rules.Compare(c.msg(), *c.live, p.variables)
	was, is := c.msg().ProgressToken(), c.live.ProgressToken()
	if c.msg().Method == mcp.NotificationProgress && !mcp.Same(was, is) && !p.rules.Ignores([]string{"params", mcp.MemberProgressToken}) {
		result.Differences = append(result.Differences, match.Difference{
			Path: "/params/progressToken", Want: phrase.Name(string(was)), Got: cmp.Or(phrase.Name(string(is)), "nothing"),
		})
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
