package state

import (
	"fmt"
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
	return x.method != methodListen
}

// ofCalls makes what is asked of the open calls that a filter selects.
func ofCalls(ask func(*State, filter) float64) func(string) (func(*State) value, error) {
	return func(of string) (func(*State) value, error) {
		f, err := parseFilter(of)
		return func(s *State) value { return value{number: ask(s, f)} }, err
	}
}

func pending(s *State, f filter) (n float64) {
	if len(f) == 0 {
		return float64(s.open)
	}
	for _, list := range s.calls {
		for _, x := range list {
			n += truth(f.fits(x)).number
		}
	}
	return n
}

func waited(s *State, f filter) (longest float64) {
	for _, list := range s.calls {
		for _, x := range list {
			if f.fits(x) {
				longest = max(longest, (s.at - x.at).Seconds())
			}
		}
	}
	return longest
}
