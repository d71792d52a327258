package state

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/filter"
)

// parseFilter reads the FILTER of a condition, in the language of every command. What
// asks how a call ends is refused: here all calls are open.
func parseFilter(text string) (*filter.Filter, error) {
	f, err := filter.Parse(text)
	if err == nil && f.Ahead() {
		return nil, fmt.Errorf("filter %q: status: and took: ask how a call ends, and these are open", text)
	}
	return f, err
}

// asked is the call as a filter knows it.
func (x *call) asked() *replay.Call {
	return &replay.Call{Dir: x.dir, ID: x.raw, Method: x.method, Target: x.target, Token: x.rawToken, Request: x.seq, At: x.at, Stream: x.stream}
}

// watch has the open calls that a filter selects, so that asking after each event does
// not go through all of them.
type watch struct {
	open  int
	calls []*call // in the order of their requests; those that are closed go when they are first
}

// watched returns the watch of a filter; who asks first has it from then on.
func (s *State) watched(f *filter.Filter) *watch {
	if w := s.watches[f]; w != nil {
		return w
	}
	w := &watch{}
	for _, list := range s.calls {
		for _, x := range list {
			if !x.closed && x.method != methodListen && f.SelectsCall(x.asked()) {
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

// watch shows a new call to those who ask.
func (s *State) watch(x *call) {
	for f, w := range s.watches {
		if f.SelectsCall(x.asked()) {
			w.open++
			w.calls = append(w.calls, x)
		}
	}
}

// unwatch tells them that it is closed.
func (s *State) unwatch(x *call) {
	for f, w := range s.watches {
		if !f.SelectsCall(x.asked()) {
			continue
		}
		for w.open--; len(w.calls) > 0 && w.calls[0].closed; {
			w.calls = w.calls[1:]
		}
	}
}

// ofCalls makes what is asked of the open calls that a filter selects.
func ofCalls(ask func(*State, *watch) float64) func(string) (func(*State) value, error) {
	return func(of string) (func(*State) value, error) {
		f, err := parseFilter(of)
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
