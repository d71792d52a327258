package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
)

// judged is a verdict and where it stands: after what was recorded up to seq.
type judged struct {
	StepVerdict
	seq uint64
	// grave: the live end asked or answered something else than the recorded one, and
	// not only told it otherwise.
	grave bool
}

// inOrder returns the verdicts of a session, in recorded order, extras where they
// came.
func inOrder(list []judged) []StepVerdict {
	slices.SortStableFunc(list, func(a, b judged) int {
		switch {
		case a.seq < b.seq:
			return -1
		case a.seq > b.seq:
			return 1
		}
		return 0
	})
	verdicts := make([]StepVerdict, len(list))
	for i, j := range list {
		verdicts[i] = j.StepVerdict
	}
	return verdicts
}

// grave returns those that say that an end asked or answered something else.
func grave(list []judged) []StepVerdict {
	var verdicts []StepVerdict
	for _, j := range list {
		if j.grave {
			verdicts = append(verdicts, j.StepVerdict)
		}
	}
	return verdicts
}

// judge fills in how the live message of a step compares with the recorded one.
func (v *StepVerdict) judge(c comparison, order string) {
	v.Result, v.Differences, v.Mapped, v.Order = Match, c.differences, c.mapped, order
	v.More = c.count - len(c.differences)
	if c.count == 0 && order == "" {
		return
	}
	v.Result = Mismatch
	var parts []string
	if c.count > 0 {
		parts = append(parts, c.sentence())
	}
	if order != "" {
		parts = append(parts, order)
	}
	v.Text = fmt.Sprintf("#%d, %s, %s", v.Seq, v.What, strings.Join(parts, "; "))
}

// sentence tells the first difference, and how many there are.
func (c comparison) sentence() string {
	d := c.differences[0]
	if c.count == 2 && d.Path == "/result" && c.differences[1].Path == "/error" {
		failure := c.differences[1]
		if d.Got == "nothing" {
			return fmt.Sprintf("is an error: recorded the result %s, got the error %s", d.Want, failure.Got)
		}
		return fmt.Sprintf("is no error: recorded the error %s, got the result %s", failure.Want, d.Got)
	}
	text := fmt.Sprintf("differs at %s: recorded %s, got %s", d.Place(), d.Want, d.Got)
	if d.Hint != "" {
		text += fmt.Sprintf(" (would match with normalizer %s)", d.Hint)
	}
	if c.count > 1 {
		text += fmt.Sprintf(", and in %s more", phrase.Plural(c.count-1, "place"))
	}
	return text
}

// excused turns the differences into what was not compared.
func (c comparison) excused(by string) comparison {
	for _, d := range c.differences {
		c.mapped = append(c.mapped, Mapping{Path: d.Path, By: by, Want: d.Want, Got: d.Got})
	}
	c.differences, c.count = nil, 0
	return c
}

// Verdicts returns the verdict on each message of the server so far, as if it said
// no more: in recorded order, extras where they came.
func (d *Driver) Verdicts() []StepVerdict { return inOrder(d.judge()) }

// Close returns the verdicts that say that the live server answered something else
// than the recorded one, asked something else, or did not do it at all. What it
// told besides, and in which order, is in Verdicts.
func (d *Driver) Close() []StepVerdict { return grave(d.judge()) }

func (d *Driver) judge() []judged {
	var list []judged
	for _, t := range d.turns {
		if v, ok := d.judgeTurn(t); ok {
			list = append(list, v)
		}
	}
	for _, l := range d.lines {
		if !l.sent && (l.question == nil || l.question.arrived) {
			list = append(list, judged{seq: l.seq, grave: true, StepVerdict: StepVerdict{
				Result: NotSent, Seq: l.seq, Dir: transport.ClientToServer, What: l.what(),
				Text: fmt.Sprintf("#%d %s was still waiting for the server", l.seq, l.what()),
			}})
		}
	}
	list = append(list, d.noises.judge(transport.ServerToClient, "server")...)
	return append(list, d.findings...)
}

// judgeTurn returns the verdict on a turn; none on an answer that was not asked for,
// or was called off.
func (d *Driver) judgeTurn(t *turn) (j judged, ok bool) {
	j.seq, j.StepVerdict = t.seq, StepVerdict{Seq: t.seq, Dir: transport.ServerToClient, What: t.what(), Result: Missing}
	switch {
	case t.arrived:
		c := d.rules.compare(t.msg(), *t.live, d.variables)
		if by := d.rules.By; t.msg().Kind() == transport.Request && (by == ByMethod || by == ByOrder) {
			c = c.excused(by.String())
		}
		order := t.misplaced()
		if order == "" && c.count == 0 { // else it may stand for the wrong one
			order = t.late()
		}
		if order != "" && d.rules.AnyOrder {
			c.mapped, order = append(c.mapped, Mapping{By: "order", Got: order}), ""
		}
		j.judge(c, order)
		j.grave = t.request != nil && c.count > 0
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
	d.findings = append(d.findings, judged{seq: d.reached, grave: grave, StepVerdict: StepVerdict{
		Result: Extra, Dir: transport.ServerToClient, What: what, Text: text,
	}})
}
