package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/transport"
)

// filter selects calls: words of a field and a value, all of which must fit.
type filter []func(*call) bool

// parseFilter reads words such as tool:search dir:c2s.
func parseFilter(text string) (f filter, err error) {
	for _, word := range strings.Fields(text) {
		field, want, ok := strings.Cut(word, ":")
		if !ok {
			field, want = "", word
		}
		want = unquoted(want)
		switch field {
		case "tool":
			f = append(f, func(x *call) bool { return x.method == "tools/call" && x.target == want })
		case "method":
			f = append(f, func(x *call) bool { return x.method == want })
		case "id":
			a, b := order.Key([]byte(want)), order.Key([]byte(`"`+want+`"`))
			f = append(f, func(x *call) bool { return x.id == a || x.id == b })
		case "dir":
			dir, err := transport.ParseDirection(want)
			if err != nil {
				return nil, err
			}
			f = append(f, func(x *call) bool { return x.dir == dir })
		default:
			return nil, fmt.Errorf("filter %q: want one of tool:, method:, id:, dir: before a value", word)
		}
	}
	return f, nil
}

func (f filter) fits(x *call) bool {
	for _, word := range f {
		if !word(x) {
			return false
		}
	}
	return true
}

// watch has the open calls that a filter selects, so that asking after each event does
// not go through all of them.
type watch struct {
	open  int
	calls []*call // in the order of their requests; those that are closed go when they are first
}

// watched returns the watch of a filter; who asks first has it from then on.
func (s *State) watched(f *filter) *watch {
	if w := s.watches[f]; w != nil {
		return w
	}
	w := &watch{}
	for _, list := range s.calls {
		for _, x := range list {
			if !x.closed && x.method != methodListen && f.fits(x) {
				w.calls = append(w.calls, x)
			}
		}
	}
	w.open = len(w.calls)
	slices.SortFunc(w.calls, func(a, b *call) int { return cmp.Compare(a.seq, b.seq) })
	if s.watches == nil {
		s.watches = map[*filter]*watch{}
	}
	s.watches[f] = w
	return w
}

// watch shows a new call to those who ask.
func (s *State) watch(x *call) {
	for f, w := range s.watches {
		if f.fits(x) {
			w.open++
			w.calls = append(w.calls, x)
		}
	}
}

// unwatch tells them that it is closed.
func (s *State) unwatch(x *call) {
	for f, w := range s.watches {
		if !f.fits(x) {
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
		return func(s *State) value { return value{number: ask(s, s.watched(&f))} }, err
	}
}

func pending(_ *State, w *watch) float64 { return float64(w.open) }

func waited(s *State, w *watch) float64 {
	if len(w.calls) == 0 {
		return 0
	}
	return (s.at - w.calls[0].at).Seconds()
}
