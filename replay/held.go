package replay

import (
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// Waiting reports whether Relent would send something.
func (d *Driver) Waiting() bool { return d.held() != nil }

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

// Relent gives up waiting, for the first line that is held back by what the live
// server may never say, and returns what can be sent then. A response is always
// waited for, unless its request was cancelled.
func (d *Driver) Relent() []transport.Frame {
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
		if !t.isSettled() {
			d.without = append(d.without, fmt.Sprintf("#%d (%s)", t.seq, t.what()))
		}
		if l.question == nil && !t.passed && !t.arrived {
			t.passed, t.forgone = true, true
			if !t.parting {
				d.missing--
			}
		}
	}
	d.settle()
	return d.release()
}

// Without says what Relent went on without: #3 (notifications/progress).
func (d *Driver) Without() []string { return slices.Clone(d.without) }
