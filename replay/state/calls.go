package state

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
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

// newCall reads a request.
func newCall(e store.Event, m *transport.Message) *call {
	// written is raw as text, without a copy if its key has the same spelling.
	written := func(raw json.RawMessage, key mcp.Key) string {
		if string(raw) == string(key) {
			return string(key)
		}
		return string(raw)
	}
	target, _ := timeline.Target(*m)
	token := m.ProgressToken()
	c := &call{
		dir: e.Dir, id: mcp.KeyOf(m.ID), method: strings.Clone(m.Method), target: strings.Clone(target),
		token: mcp.KeyOf(token), stream: e.Stream, seq: e.Seq, at: e.At,
	}
	c.rawID = written(m.ID, c.id)
	c.rawToken = written(token, c.token)
	if c.method == mcp.MethodListen {
		c.filter = string(transport.Member(m.Params, "notifications"))
	}
	return c
}

// selectedBy reports whether a filter selects the call.
func (c *call) selectedBy(f *filter.Filter) bool {
	return f.SelectsCall(&timeline.Call{
		Dir: c.dir, ID: c.rawID, Method: c.method, Target: c.target, Token: c.rawToken, Request: c.seq, At: c.at, Stream: c.stream,
	})
}

// callTable holds the requests without an answer: by id, by progress token and by HTTP
// exchange. Ids and tokens are compared by value.
type callTable struct {
	byID       map[callKey][]*call // the first and the last of an id are open; calls in between may be closed
	byToken    map[callKey]*call   // the latest
	byExchange map[uint64][]*call  // of open exchanges; closed calls too
	open       int                 // calls but for listen requests
	listening  int                 // acknowledged listen requests
	watches    map[*filter.Filter]*watch
}

// callKey is the key of an id, a progress token or a task, with the direction.
type callKey struct {
	dir transport.Direction
	key mcp.Key
}

func (k callKey) compare(other callKey) int {
	return cmp.Or(cmp.Compare(k.dir, other.dir), cmp.Compare(k.key, other.key))
}

// watch counts the open calls of a filter, for conditions asked after each event: to go
// through the calls every time would take long.
type watch struct {
	open  int
	calls []*call // in order; closed calls go when first
}

func newCallTable() callTable {
	return callTable{byID: map[callKey][]*call{}, byToken: map[callKey]*call{}, byExchange: map[uint64][]*call{}}
}

// add opens a call. holdsToken says whether the token names this call, and not a later one.
func (t *callTable) add(c *call, holdsToken bool) {
	key := callKey{c.dir, c.id}
	t.byID[key] = append(t.byID[key], c)
	if c.stream != 0 && c.cut == 0 {
		t.byExchange[c.stream] = append(t.byExchange[c.stream], c)
	}
	if c.token != "" && holdsToken {
		t.byToken[callKey{c.dir, c.token}] = c
	}
	if c.method == mcp.MethodListen {
		if c.acknowledged != 0 {
			t.listening++
		}
		return
	}
	t.open++
	for f, w := range t.watches {
		if c.selectedBy(f) {
			w.open++
			w.calls = append(w.calls, c)
		}
	}
}

// holdsToken reports whether the token of a call names it.
func (t *callTable) holdsToken(c *call) bool {
	return c.token != "" && t.byToken[callKey{c.dir, c.token}] == c
}

// close removes a call.
func (t *callTable) close(c *call) {
	key := callKey{c.dir, c.id}
	list := t.byID[key]
	c.closed = true
	for len(list) > 0 && list[0].closed {
		list = list[1:]
	}
	for len(list) > 0 && list[len(list)-1].closed { // calls in between stay: to delete these takes long
		list = list[:len(list)-1]
	}
	t.byID[key] = list
	if len(list) == 0 {
		delete(t.byID, key)
	}
	if t.holdsToken(c) {
		delete(t.byToken, callKey{c.dir, c.token})
	}
	if c.method == mcp.MethodListen {
		if c.acknowledged != 0 {
			t.listening--
		}
		return
	}
	t.open--
	for f, w := range t.watches {
		if !c.selectedBy(f) {
			continue
		}
		w.open--
		for len(w.calls) > 0 && w.calls[0].closed {
			w.calls = w.calls[1:]
		}
	}
}

// find returns the open call of a direction for a message on an exchange, or nil: the call of
// the same exchange, or if the exchange has no request with the id, the first open call.
func (t *callTable) find(dir transport.Direction, id json.RawMessage, stream uint64) *call {
	key := callKey{dir, mcp.KeyOf(id)}
	isOwn := false
	for _, c := range t.byExchange[stream] {
		if (callKey{c.dir, c.id}) != key {
			continue
		}
		isOwn = true
		if !c.closed {
			return c
		}
	}
	if list := t.byID[key]; len(list) > 0 && !isOwn {
		return list[0]
	}
	return nil
}

// withToken returns the open call of a direction that progress on an exchange belongs to, nil
// if there is none: the latest of the exchange, and if the exchange has no request with the
// token the latest of all.
func (t *callTable) withToken(dir transport.Direction, token json.RawMessage, stream uint64) *call {
	key := callKey{dir, mcp.KeyOf(token)}
	for _, c := range slices.Backward(t.byExchange[stream]) {
		switch {
		case (callKey{c.dir, c.token}) != key || c.token == "":
		case c.closed:
			return nil
		default:
			return c
		}
	}
	return t.byToken[key]
}

// latest returns the latest open call of a direction with an id, or nil.
func (t *callTable) latest(dir transport.Direction, id json.RawMessage) *call {
	list := t.byID[callKey{dir, mcp.KeyOf(id)}]
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// onExchange lists the open calls of an exchange.
func (t *callTable) onExchange(stream uint64) (list []*call) {
	for _, c := range t.byExchange[stream] {
		if !c.closed {
			list = append(list, c)
		}
	}
	return list
}

// all lists the open calls in the order of the requests.
func (t *callTable) all() (list []*call) {
	for _, key := range slices.SortedFunc(maps.Keys(t.byID), callKey.compare) {
		for _, c := range t.byID[key] {
			if !c.closed {
				list = append(list, c)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *call) int { return cmp.Compare(a.seq, b.seq) })
	return list
}

// clone copies the open calls; the copy has no watches.
func (t *callTable) clone() callTable {
	copied := newCallTable()
	for _, c := range t.all() {
		own := *c
		copied.add(&own, t.holdsToken(c))
	}
	return copied
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
