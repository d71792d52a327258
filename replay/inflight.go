package replay

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

// inFlight holds the requests that are open, by the direction they went and
// their raw id. An id may be used again once it was answered (2026-07-28), and a
// faulty peer uses it before: a response belongs to the latest open request.
type inFlight[T any] struct {
	calls map[callKey][]T
	odd   map[numberKey][]string // open ids that are numbers and not plain
}

type callKey struct {
	dir transport.Direction
	id  string
}

type numberKey struct {
	dir transport.Direction
	n   float64
}

// oddities is how many odd spellings of one number are told apart.
const oddities = 16

func (f *inFlight[T]) open(dir transport.Direction, id []byte, call T) {
	k := callKey{dir, string(id)}
	if f.calls == nil {
		f.calls = map[callKey][]T{}
	}
	f.calls[k] = append(f.calls[k], call)
	if len(f.calls[k]) > 1 || !isNumber(id) || isPlain(k.id) {
		return
	}
	if f.odd == nil {
		f.odd = map[numberKey][]string{}
	}
	if n := (numberKey{dir, asNumber(k.id)}); len(f.odd[n]) < oddities {
		f.odd[n] = append(f.odd[n], k.id)
	}
}

// latest returns the latest open request with the id that went in direction dir.
func (f *inFlight[T]) latest(dir transport.Direction, id []byte) (call T, ok bool) {
	calls := f.calls[f.key(dir, id)]
	if len(calls) == 0 {
		return call, false
	}
	return calls[len(calls)-1], true
}

// key returns where the open requests with the id are. Of several that spell its
// number otherwise it takes the first in order.
func (f *inFlight[T]) key(dir transport.Direction, id []byte) callKey {
	k := callKey{dir, string(id)}
	if len(f.calls[k]) > 0 || !isNumber(id) {
		return k
	}
	n := asNumber(k.id) + 0 // -0 is 0
	others := f.odd[numberKey{dir, n}]
	if plain := strconv.FormatFloat(n, 'f', -1, 64); isPlain(plain) && len(f.calls[callKey{dir, plain}]) > 0 {
		others = append(slices.Clip(others), plain)
	}
	if len(others) > 0 {
		k.id = slices.Min(others)
	}
	return k
}

// isPlain reports whether an id is a whole number as every peer writes it: no two
// plain ids are the same number.
func isPlain(id string) bool {
	digits := strings.TrimPrefix(id, "-")
	if len(digits) == 0 || len(digits) > 15 || digits[0] == '0' && id != "0" {
		return false
	}
	return strings.Trim(digits, "0123456789") == ""
}

// spelled returns the one of ids that is the same number as id, which is not among
// them: servers that read ids as a float64 answer 1e2 with 100. It returns id when
// there is none, and the first in order of several.
func spelled(ids iter.Seq[string], id []byte) string {
	found, number := string(id), asNumber(string(id))
	for other := range ids {
		if isNumber([]byte(other)) && asNumber(other) == number && (found == string(id) || other < found) {
			found = other
		}
	}
	return found
}

func isNumber(id []byte) bool {
	return len(id) > 0 && (id[0] == '-' || '0' <= id[0] && id[0] <= '9')
}

// asNumber reads a JSON number as most peers do.
func asNumber(id string) float64 {
	n, _ := strconv.ParseFloat(id, 64) // a number that is too large becomes Inf, as there
	return n
}

// close removes and returns the latest open request with the id.
func (f *inFlight[T]) close(dir transport.Direction, id []byte) (call T, ok bool) {
	k := f.key(dir, id)
	calls := f.calls[k]
	if len(calls) == 0 {
		return call, false
	}
	call = calls[len(calls)-1]
	if f.calls[k] = calls[:len(calls)-1]; len(calls) == 1 {
		f.drop(k)
	}
	return call, true
}

// remove removes the open requests with exactly the id that fit.
func (f *inFlight[T]) remove(dir transport.Direction, id []byte, fits func(T) bool) {
	k := callKey{dir, string(id)}
	if f.calls[k] = slices.DeleteFunc(f.calls[k], fits); len(f.calls[k]) == 0 {
		f.drop(k)
	}
}

// drop forgets an id that nobody has any more.
func (f *inFlight[T]) drop(k callKey) {
	delete(f.calls, k)
	if !isNumber([]byte(k.id)) || isPlain(k.id) {
		return
	}
	n := numberKey{k.dir, asNumber(k.id)}
	f.odd[n] = slices.DeleteFunc(f.odd[n], func(id string) bool { return id == k.id })
	if len(f.odd[n]) == 0 {
		delete(f.odd, n)
	}
}

// namesakes is how many open requests with one id are looked through.
const namesakes = 1000

// closeOn is close, but of several open requests with the id it takes the latest that
// fits, if one of the latest does.
func (f *inFlight[T]) closeOn(dir transport.Direction, id []byte, fits func(T) bool) (call T, ok bool) {
	k := f.key(dir, id)
	calls := f.calls[k]
	for i := len(calls) - 1; i >= max(0, len(calls)-namesakes); i-- {
		if fits(calls[i]) {
			call = calls[i]
			if f.calls[k] = slices.Delete(calls, i, i+1); len(calls) == 1 {
				f.drop(k)
			}
			return call, true
		}
	}
	return f.close(dir, id)
}

// strayKey is what two answers have in common that belong to no request: a server
// gives one, with a null id, to what it could not read, and a faulty peer answers
// twice. They are said again as they were recorded.
func strayKey(m transport.Message) string { return "answer " + string(m.ID) }
