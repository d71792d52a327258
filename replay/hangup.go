package replay

import (
	"net/http"
	"slices"
)

// hangUp is where the recorded client hung up on an HTTP exchange before it had all
// of the response: in revision 2026-07-28 that is how a call is cancelled, and how a
// subscription ends.
type hangUp struct {
	exchange uint64
	lines    int     // said before it
	turns    int     // heard before it
	on       []*turn // of these, what was heard on the exchange
}

// noteHangUps finds where the client hung up.
func (d *lining) noteHangUps() {
	for _, ex := range d.exchanges.order {
		if ex.hungUp == 0 || ex.method != http.MethodPost && !ex.resumed {
			continue
		}
		h := hangUp{exchange: ex.number}
		for h.lines < len(d.lines) && d.lines[h.lines].seq < ex.hungUp {
			h.lines++
		}
		for h.turns < len(d.turns) && d.turns[h.turns].seq < ex.hungUp {
			if t := d.turns[h.turns]; t.on == d.exchanges.first(ex.number) {
				h.on = append(h.on, t)
			}
			h.turns++
		}
		d.hangUps = append(d.hangUps, h)
	}
}

// HangUps returns the exchanges on which the client is to hang up now: what it had
// said and heard before is said and heard. Each is returned once.
func (d *Driver) HangUps() (exchanges []uint64) {
	d.hangUps = slices.DeleteFunc(d.hangUps, func(h hangUp) bool {
		due := d.isReached(h) && !slices.ContainsFunc(h.on, (*turn).mayCome)
		if due {
			exchanges = append(exchanges, h.exchange)
		}
		return due
	})
	return exchanges
}

// isReached reports whether the session has come to the place of the hang-up.
func (d *Driver) isReached(h hangUp) bool {
	return d.settled >= h.turns && !slices.ContainsFunc(d.lines[:h.lines], func(l *line) bool { return !l.sent })
}

// mayCome reports whether the turn is waited for where the client is about to hang up.
// It may have been passed over: two HTTP streams have no order, and what came first on
// the other one does not show that nothing more comes on this one.
func (t *turn) mayCome() bool { return !t.arrived && !t.forgone }

// unheard returns what may still come on the exchanges on which the client hangs up next.
func (d *Driver) unheard() (turns []*turn) {
	if !d.hangsUp || d.ended {
		return nil
	}
	for _, h := range d.hangUps {
		if !d.isReached(h) {
			continue
		}
		for _, t := range h.on {
			if t.mayCome() && !slices.Contains(turns, t) {
				turns = append(turns, t)
			}
		}
	}
	return turns
}

// isBehindHangUp reports whether the client said the line after a hang-up that is next.
func (d *Driver) isBehindHangUp(l *line) bool {
	return d.hangsUp && slices.ContainsFunc(d.hangUps, func(h hangUp) bool { return h.lines <= l.index && d.isReached(h) })
}
