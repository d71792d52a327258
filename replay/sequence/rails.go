package sequence

import (
	"slices"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/transport"
)

// rails are the calls in flight that one end made, each in a column of its own as long
// as there are enough.
type rails struct {
	columns []*replay.Call        // nil: free
	beyond  map[*replay.Call]bool // calls that have no column
	begin   rune
	touch   rune
	end     rune
}

const (
	runs   = '│'
	cancel = '×'
	more   = '+' // calls that have no column
)

// around is what an entry does to the calls that went in a direction: the row of
// cells, and then the rails as they are behind it.
func (r *rails) around(dir transport.Direction, messages []replay.EntryMessage) []rune {
	cells := make([]rune, len(r.columns)+1)
	for i, c := range r.columns {
		if cells[i] = ' '; c != nil {
			cells[i] = runs
		}
	}
	for _, m := range messages {
		if m.Call != nil && m.Call.Dir == dir {
			r.message(m, cells)
		}
	}
	if cells[len(r.columns)] = ' '; len(r.beyond) > 0 {
		cells[len(r.columns)] = more
	}
	return cells
}

func (r *rails) message(m replay.EntryMessage, cells []rune) {
	at := slices.Index(r.columns, m.Call)
	switch {
	case m.Kind == transport.Request:
		if at = slices.Index(r.columns, nil); at < 0 {
			r.beyond[m.Call] = true
			return
		}
		r.columns[at], cells[at] = m.Call, r.begin
	case m.Kind == transport.Response && m.Request != 0 && at >= 0:
		r.columns[at], cells[at] = nil, r.end
	case r.beyond[m.Call] && (m.Kind == transport.Response || m.Method == "notifications/cancelled"):
		delete(r.beyond, m.Call)
	case at >= 0 && m.Method == "notifications/cancelled":
		r.columns[at], cells[at] = nil, cancel
	case at >= 0:
		cells[at] = r.touch
	}
}
