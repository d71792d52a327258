package replay

import (
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// Waiting reports whether Relent would let the session go on: to a line, or to where the
// client hangs up.
func (d *Driver) Waiting() bool { return d.held() != nil || len(d.unheard()) > 0 }

// held returns the first line that waits for nothing but what may never come.
func (d *Driver) held() *line {
	if d.ended {
		return nil
	}
	for _, l := range d.due {
		if !l.sent && !d.loose {
			return l
		}
	}
	if d.loose {
		return nil
	}
	l := d.nextLine()
	if l == nil {
		return nil
	}
	for _, t := range d.turns[d.settled:max(d.settled, l.before)] {
		if !t.isSettled() && !t.idle {
			return nil
		}
	}
	return l
}

// Relent gives up waiting, for the first line or hang-up that is held back by what the
// live server may never say, and returns what can be sent then. A response is always
// waited for, unless its request was cancelled.
func (d *Driver) Relent() []transport.Frame {
	if turns := d.unheard(); len(turns) > 0 {
		for _, t := range turns {
			d.forgo(t)
		}
		return d.release()
	}
	l := d.held()
	if l == nil {
		return nil
	}
	if l.question == nil && l.before <= d.settled {
		return d.overlap(l)
	}
	l.hurried = true
	from := d.settled
	if l.question != nil {
		from = l.question.index
	}
	for _, t := range d.turns[min(from, l.before):l.before] {
		switch {
		case t.isSettled():
		case l.question == nil:
			d.forgo(t)
		default:
			d.goWithout(t)
		}
	}
	d.settle()
	return d.release()
}

// forgo waits for the turn no more.
func (d *Driver) forgo(t *turn) {
	d.goWithout(t)
	t.passed, t.forgone = true, true
	if !t.parting {
		d.missing--
	}
}

func (d *Driver) goWithout(t *turn) {
	d.without = append(d.without, fmt.Sprintf("#%d (%s)", t.seq, t.what()))
}

// Without says what Relent went on without: #3 (notifications/progress).
func (d *Driver) Without() []string { return slices.Clone(d.without) }
