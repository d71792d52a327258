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
	lines    int // said before it
	turns    int // heard before it
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
			h.turns++
		}
		d.hangUps = append(d.hangUps, h)
	}
}

// HangUps returns the exchanges on which the client is to hang up now: what it had
// said and heard before is said and heard. Each is returned once.
func (d *Driver) HangUps() (exchanges []uint64) {
	d.hangUps = slices.DeleteFunc(d.hangUps, func(h hangUp) bool {
		due := d.settled >= h.turns && !slices.ContainsFunc(d.lines[:h.lines], func(l *line) bool { return !l.sent })
		if due {
			exchanges = append(exchanges, h.exchange)
		}
		return due
	})
	return exchanges
}
