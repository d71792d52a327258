package state

import (
	"cmp"
	"encoding/json"
	"fmt"
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
	dir       transport.Direction
	id        string // as a key
	raw       string // as it was written
	method    string
	target    string
	token     string // as a key; "" when no progress was asked for
	rawToken  string
	stream    uint64
	seq       uint64
	at        time.Duration
	version   string // the revision that it names
	reports   uint64 // progress notifications
	progress  string // the latest, as it was written
	total     string
	message   string
	cancelled uint64
	cut       uint64 // the event that ended its HTTP exchange
	closed    bool

	filter       string // of a listen request
	acknowledged uint64
	notified     uint64
}

// find returns the call that an answer on a stream belongs to, nil if there is none: that
// of its exchange, and where the exchange asked nothing with the id the first that is open.
func (s *State) find(dir transport.Direction, id json.RawMessage, stream uint64) *call {
	k := key{dir, string(mcp.KeyOf(id))}
	own := false
	for _, x := range s.asked[stream] {
		if x.dir != k.dir || x.id != k.id {
			continue
		}
		if own = true; !x.closed {
			return x
		}
	}
	if list := s.calls[k]; len(list) > 0 && !own {
		return list[0]
	}
	return nil
}

// closes takes a call out.
func (s *State) closes(x *call) {
	k := key{x.dir, x.id}
	list := s.calls[k]
	x.closed = true
	for len(list) > 0 && list[0].closed {
		list = list[1:]
	}
	for len(list) > 0 && list[len(list)-1].closed { // those between open ones stay, or it would take long
		list = list[:len(list)-1]
	}
	if s.calls[k] = list; len(list) == 0 {
		delete(s.calls, k)
	}
	if x.method != mcp.MethodListen {
		s.open--
		for f, w := range s.watches {
			if !f.SelectsCall(x.asked()) {
				continue
			}
			for w.open--; len(w.calls) > 0 && w.calls[0].closed; {
				w.calls = w.calls[1:]
			}
		}
	} else if x.acknowledged != 0 {
		s.listening--
	}
	if t := (key{x.dir, x.token}); s.tokens[t] == x {
		delete(s.tokens, t)
	}
}

func (s *State) request(e store.Event, m *transport.Message) {
	target, _ := timeline.Target(*m)
	x := &call{
		dir: e.Dir, id: string(mcp.KeyOf(m.ID)), method: strings.Clone(m.Method), target: strings.Clone(target),
		token: string(mcp.KeyOf(m.ProgressToken())), stream: e.Stream, seq: e.Seq, at: e.At,
	}
	x.raw, x.rawToken = written(m.ID, x.id), written(m.ProgressToken(), x.token)
	s.states(x, m)
	if x.method == mcp.MethodListen {
		x.filter = string(transport.Member(m.Params, "notifications"))
	} else {
		s.open++
		for f, w := range s.watches {
			if f.SelectsCall(x.asked()) {
				w.open++
				w.calls = append(w.calls, x)
			}
		}
	}
	k := key{x.dir, x.id}
	s.calls[k] = append(s.calls[k], x)
	if x.stream != 0 {
		s.asked[x.stream] = append(s.asked[x.stream], x)
	}
	if x.token != "" {
		s.tokens[key{x.dir, x.token}] = x
	}
}

// written is raw as text, without a copy where its key is that.
func written(raw json.RawMessage, key string) string {
	if string(raw) == key {
		return key
	}
	return string(raw)
}

func (s *State) response(e store.Event, m *transport.Message) {
	if m.Error != nil || string(transport.Member(m.Result, mcp.MemberIsError)) == "true" {
		s.failures++
	}
	x := s.find(e.Dir.Reverse(), m.ID, e.Stream)
	if x == nil {
		return
	}
	s.closes(x)
	s.taken(x.dir, x.stream, x.seq)
	if m.Error != nil {
		return
	}
	s.settles(e, x, m.Result)
	s.tasksOf(e, x, m.Result)
	switch x.method {
	case mcp.MethodSubscribe:
		if _, ok := s.subscriptions[x.target]; !ok {
			s.subscriptions[x.target] = Subscription{URI: x.target, Since: e.Seq}
		}
	case mcp.MethodUnsubscribe:
		delete(s.subscriptions, x.target)
	}
}

// reports takes in progress of an open call.
func (s *State) reports(e store.Event, m *transport.Message) {
	x := s.tokens[key{e.Dir.Reverse(), string(mcp.KeyOf(m.ProgressToken()))}]
	if x == nil {
		return
	}
	x.reports++
	x.progress = string(transport.Member(m.Params, "progress"))
	x.total = string(transport.Member(m.Params, "total"))
	x.message = text(transport.Member(m.Params, "message"))
	s.taken(x.dir, x.stream, x.seq)
}

// cancel notes that a caller no longer wants the answer of its latest call with an id. A
// subscription ends with it.
func (s *State) cancel(e store.Event, id json.RawMessage) {
	list := s.calls[key{e.Dir, string(mcp.KeyOf(id))}]
	if id == nil || len(list) == 0 {
		return
	}
	x := list[len(list)-1]
	if x.method == mcp.MethodListen {
		s.closes(x)
		return
	}
	x.cancelled = e.Seq
}

// text returns the text of a JSON string, "" of anything else.
func text(raw json.RawMessage) (s string) {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	for _, c := range raw {
		if c == '\\' || c >= 0x80 {
			_ = json.Unmarshal(raw, &s) // valid, as the frame is
			return s
		}
	}
	return string(raw[1 : len(raw)-1])
}

// asked is the call as a filter knows it.
func (x *call) asked() *timeline.Call {
	return &timeline.Call{Dir: x.dir, ID: x.raw, Method: x.method, Target: x.target, Token: x.rawToken, Request: x.seq, At: x.at, Stream: x.stream}
}

// watch has the open calls that a filter selects, so that asking after each event does
// not go through all of them.
type watch struct {
	open  int
	calls []*call // in the order of their requests; those that are closed go when they are first
}

// watched returns the watch of a filter, and keeps it up from the first question on.
func (s *State) watched(f *filter.Filter) *watch {
	if w := s.watches[f]; w != nil {
		return w
	}
	w := &watch{}
	for _, list := range s.calls {
		for _, x := range list {
			if !x.closed && x.method != mcp.MethodListen && f.SelectsCall(x.asked()) {
				w.calls = append(w.calls, x)
			}
		}
	}
	w.open = len(w.calls)
	slices.SortFunc(w.calls, func(a, b *call) int { return cmp.Compare(a.seq, b.seq) })
	if s.watches == nil {
		s.watches = map[*filter.Filter]*watch{}
	}
	s.watches[f] = w
	return w
}

// ofCalls makes a question about the open calls that a filter selects. A filter that asks
// how a call ends is refused.
func ofCalls(ask func(*State, *watch) float64) func(string) (func(*State) value, error) {
	return func(of string) (func(*State) value, error) {
		f, err := filter.Parse(of)
		if err == nil && f.Ahead() {
			err = fmt.Errorf("filter %q: status: and took: ask how a call ends, and these are open", of)
		}
		return func(s *State) value { return value{number: ask(s, s.watched(f))} }, err
	}
}

func pending(_ *State, w *watch) float64 { return float64(w.open) }

func waited(s *State, w *watch) float64 {
	if len(w.calls) == 0 {
		return 0
	}
	return (s.at - w.calls[0].at).Seconds()
}
