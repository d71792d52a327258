package replay

import (
	"fmt"
	"strconv"

	"github.com/mcprec/mcprec/transport"
)

// miss says why nothing recorded answers m, and which event is nearest.
func (p *Player) miss(m transport.Message, key Key, err error) (text string, near uint64) {
	method := clip(m.Method)
	if err != nil {
		return fmt.Sprintf("no recorded answer for %s: %v", method, err), 0
	}
	if used := p.requests[key]; len(used) > 0 {
		last := used[len(used)-1].seq
		return fmt.Sprintf("no recorded answer left for %s: it was recorded %s, last as #%d", method, countTimes(len(used)), last), last
	}
	nearest, how := p.nearest(m)
	switch {
	case nearest == nil:
		return fmt.Sprintf("no recorded answer for %s: no request of that method was recorded", method), 0
	case how.count == 0:
		return fmt.Sprintf("no recorded answer for %s; nearest is #%d: the matcher tells them apart", method, nearest.seq), nearest.seq
	}
	return fmt.Sprintf("no recorded answer for %s; nearest is #%d: %s", method, nearest.seq, how.sentence()), nearest.seq
}

// nearest returns the recorded request of the same method that differs least; one
// of the same tool, prompt or resource before any other.
func (p *Player) nearest(m transport.Message) (nearest *cue, how comparison) {
	about, least := target(m), 0
	for _, c := range p.cues {
		if c.msg.Kind() != transport.Request || c.msg.Method != m.Method {
			continue
		}
		d := p.rules.compare(c.msg, m, p.variables)
		distance := d.count
		if target(c.msg) != about {
			distance += 1 << 20
		}
		if nearest == nil || distance < least {
			nearest, how, least = c, d, distance
		}
	}
	return nearest, how
}

func countTimes(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}
