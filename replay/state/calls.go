package state

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// call is a request without an answer.
type call struct {
	*timeline.Call
	revision string // named in its _meta
	closed   bool   // answered, or given up for good

	reports   uint64 // progress notifications
	progress  string // the latest, as it was written; this and the next two have their secrets
	total     string
	message   string
	cancelled uint64 // the event
	cut       uint64 // the event at the end of its HTTP exchange

	filter       json.RawMessage // of a listen request
	acknowledged uint64          // the event
	notified     uint64
}

// shownProgress returns the latest progress without its secrets.
func (c *call) shownProgress(mask timeline.Mask) (progress, total, message string) {
	text := func(raw string) string {
		said, _ := transport.Text([]byte(raw))
		return said
	}
	if mask == nil || c.reports == 0 {
		return c.progress, c.total, text(c.message)
	}
	params := "{"
	for _, member := range []struct{ name, value string }{{"progress", c.progress}, {"total", c.total}, {"message", c.message}} {
		if member.value != "" {
			params += strconv.Quote(member.name) + ":" + member.value + ","
		}
	}
	params = strings.TrimSuffix(params, ",") + "}"
	shown := transport.Member(mask([]byte(`{"params":`+params+`}`)), "params")
	return string(transport.Member(shown, "progress")), string(transport.Member(shown, "total")), transport.MemberText(shown, "message")
}

// selectedBy reports whether a filter selects the call.
func (c *call) selectedBy(f *filter.Filter) bool {
	return f.SelectsCall(&timeline.Call{
		Dir: c.Dir, ID: c.ID, Method: c.Method, Target: c.Target, Token: c.Token, Request: c.Request, At: c.At, Stream: c.Stream,
	})
}

// callTable holds the requests without an answer.
type callTable struct {
	pending   map[*timeline.Call]*call
	open      int // calls but for listen requests
	listening int // listen requests that were acknowledged
	watches   map[*filter.Filter]*watch
	tokens    map[token][]*call // those that were asked for, by withToken
}

// token is a progress token, with the direction of the request that has it.
type token struct {
	dir transport.Direction
	key mcp.Key
}

// taskKey is the id of a task, with the direction of its messages.
type taskKey struct {
	dir transport.Direction
	id  string
}

// watch counts the open calls of a filter, for conditions asked after each event: to go
// through the calls every time would take long.
type watch struct {
	open  int
	calls []*call // in order; closed calls go when first
}

// add opens a call.
func (t *callTable) add(call *call) {
	t.pending[call.Call] = call
	if named := (token{call.Dir, call.TokenKey()}); t.tokens[named] != nil {
		t.tokens[named] = append(t.tokens[named], call)
	}
	if call.Method == mcp.MethodListen {
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

// close closes a call.
func (t *callTable) close(call *call) {
	delete(t.pending, call.Call)
	call.closed = true
	if call.Method == mcp.MethodListen {
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
	return slices.SortedFunc(maps.Values(t.pending), func(a, b *call) int { return a.Number() - b.Number() })
}

// withToken returns the latest open call of a direction with a progress token, or nil. The calls with a token are
// listed from the first question on: to go through the open calls every time would take long.
func (t *callTable) withToken(dir transport.Direction, key mcp.Key) *call {
	named := token{dir, key}
	list := t.tokens[named]
	if list == nil {
		list = []*call{}
		for _, c := range t.all() {
			if c.Dir == dir && c.TokenKey() == key {
				list = append(list, c)
			}
		}
		if t.tokens == nil {
			t.tokens = map[token][]*call{}
		}
	}
	for len(list) > 0 && list[len(list)-1].closed {
		list = list[:len(list)-1]
	}
	t.tokens[named] = list
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// watch returns the watch of a filter, kept up to date from the first question on.
func (t *callTable) watch(f *filter.Filter) *watch {
	if w := t.watches[f]; w != nil {
		return w
	}
	w := &watch{}
	for _, c := range t.all() {
		if c.Method != mcp.MethodListen && c.selectedBy(f) {
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
