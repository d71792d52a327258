package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/transport"
)

// miss says why nothing recorded answers m, which recorded request is nearest, and
// how that differs.
func (p *Player) miss(m transport.Message, key Key, err error) StepVerdict {
	v := StepVerdict{What: about(m), Text: "no recorded answer for " + clip(m.Method)}
	if err != nil {
		v.Text += fmt.Sprintf(": %v", err)
		return v
	}
	if used := p.requests[key]; len(used) > 0 {
		v.Seq = used[len(used)-1].seq
		v.Text = fmt.Sprintf("no recorded answer left for %s: it was recorded %s, last as #%d", clip(m.Method), countTimes(used[len(used)-1].nth), v.Seq)
		return v
	}
	nearest, how := p.nearest(m)
	if nearest == nil {
		v.Text += ": no request of that method was recorded"
		return v
	}
	how.leadWith("/params/name", "/params/uri") // of another tool the arguments differ anyhow
	v.Seq, v.Differences, v.Mapped = nearest.seq, how.differences, how.mapped
	v.More = how.count - len(how.differences)
	if how.count == 0 {
		v.Text += fmt.Sprintf("; nearest is #%d: the matcher tells them apart", v.Seq)
		return v
	}
	v.Text += fmt.Sprintf("; nearest is #%d: %s", v.Seq, how.sentence())
	return v
}

// nearestOf is how many recorded requests a miss is compared with.
const nearestOf = 500

// nearest returns the recorded request of the same method that differs least; one
// of the same tool, prompt or resource before any other. Of very many only some are
// compared, those of the same thing first. Of two that differ as much it is one that
// was not asked yet.
func (p *Player) nearest(m transport.Message) (nearest *cue, how comparison) {
	var same, others []*cue
	about := target(m)
	for _, c := range p.cues {
		switch recorded := c.msg(); {
		case recorded.Kind() != transport.Request || recorded.Method != m.Method:
		case target(recorded) == about:
			same = append(same, c)
		default:
			others = append(others, c)
		}
	}
	if len(same) == 0 {
		same = others
	}
	for _, c := range same[:min(len(same), nearestOf)] {
		d := p.rules.compare(c.msg(), m, p.variables)
		if nearest == nil || d.count < how.count || d.count == how.count && nearest.arrived && !c.arrived {
			nearest, how = c, d
		}
	}
	return nearest, how
}

// leadWith puts the differences at the paths before the others.
func (c comparison) leadWith(paths ...string) {
	slices.SortStableFunc(c.differences, func(a, b Difference) int {
		return cmp.Compare(slices.Index(paths, b.Path), slices.Index(paths, a.Path))
	})
}

func countTimes(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}
