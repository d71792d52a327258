package state

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// call is a request without an answer.
type call struct {
	dir      transport.Direction
	id       mcp.Key
	rawID    string // as it was written
	method   string
	target   string
	token    mcp.Key // "": no progress
	rawToken string
	stream   uint64
	seq      uint64
	at       time.Duration
	revision string // named in its _meta
	closed   bool   // answered, or given up for good

	reports   uint64 // progress notifications
	progress  string // the latest, as it was written
	total     string
	message   string
	cancelled uint64 // the event
	cut       uint64 // the event at the end of its HTTP exchange

	filter       string // of a listen request
	acknowledged uint64 // the event
	notified     uint64
}

// selectedBy reports whether a filter selects the call.
func (c *call) selectedBy(f *filter.Filter) bool {
	return f.SelectsCall(&timeline.Call{
		Dir: c.dir, ID: c.rawID, Method: c.method, Target: c.target, Token: c.rawToken, Request: c.seq, At: c.at, Stream: c.stream,
	})
}

// callTable holds the requests without an answer.
type callTable struct {
	index     timeline.Index[mcp.Key, *call]
	open      int // calls but for listen requests
	listening int // listen requests that were acknowledged
	watches   map[*filter.Filter]*watch
}

// taskKey is the id of a task, with the direction of its messages.
type taskKey struct {
	dir transport.Direction
	key mcp.Key
}

// watch counts the open calls of a filter, for conditions asked after each event: to go
// through the calls every time would take long.
type watch struct {
	open  int
	calls []*call // in order; closed calls go when first
}

// add opens a call.
func (t *callTable) add(call *call) {
	stream := call.stream
	if call.cut != 0 {
		stream = 0
	}
	t.index.Ask(call.dir, stream, call.id, call.token, call)
	if call.method == mcp.MethodListen {
		if call.acknowledged != 0 {
			t.listening++
		}
		return
	}
	t.open++
	for f, w := range t.watches {
		if call.selectedBy(f) {
			w.open++
			w.calls = append(w.calls, call)
		}
	}
}

// close closes a call that no response answers.
func (t *callTable) close(c *call) {
	t.index.Drop(c.dir, c.id, func(other *call) bool { return other == c })
	t.onClose(c)
}

// onClose counts a closed call.
func (t *callTable) onClose(call *call) {
	call.closed = true
	if call.method == mcp.MethodListen {
		if call.acknowledged != 0 {
			t.listening--
		}
		return
	}
	t.open--
	for f, w := range t.watches {
		if !call.selectedBy(f) {
			continue
		}
		w.open--
		for len(w.calls) > 0 && w.calls[0].closed {
			w.calls = w.calls[1:]
		}
	}
}

// all lists the open calls in the order of the requests.
func (t *callTable) all() []*call {
	return slices.SortedFunc(t.index.Unanswered(), func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.dir, b.dir), cmp.Compare(a.id, b.id))
	})
}

// watch returns the watch of a filter, kept up to date from the first question on.
func (t *callTable) watch(f *filter.Filter) *watch {
	if w := t.watches[f]; w != nil {
		return w
	}
	w := &watch{}
	for _, c := range t.all() {
		if c.method != mcp.MethodListen && c.selectedBy(f) {
			w.calls = append(w.calls, c)
		}
	}
	w.open = len(w.calls)
	if t.watches == nil {
		t.watches = map[*filter.Filter]*watch{}
	}
	t.watches[f] = w
	return w
}
