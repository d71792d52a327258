package replay

import (
	"iter"
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/transport"
)

// inFlight holds the requests that are open, by the direction they went and
// their raw id. An id may be used again once it was answered (2026-07-28), and a
// faulty peer uses it before: a response belongs to the latest open request.
type inFlight[T any] map[callKey][]T

type callKey struct {
	dir transport.Direction
	id  string
}

func (f inFlight[T]) open(dir transport.Direction, id []byte, call T) {
	k := callKey{dir, string(id)}
	f[k] = append(f[k], call)
}

// latest returns the latest open request with the id that went in direction dir.
func (f inFlight[T]) latest(dir transport.Direction, id []byte) (call T, ok bool) {
	calls := f[f.key(dir, id)]
	if len(calls) == 0 {
		return call, false
	}
	return calls[len(calls)-1], true
}

// key returns where the open requests with the id are.
func (f inFlight[T]) key(dir transport.Direction, id []byte) callKey {
	k := callKey{dir, string(id)}
	if len(f[k]) == 0 && isNumber(id) {
		k.id = spelled(func(yield func(string) bool) {
			for other := range f {
				if other.dir == dir && !yield(other.id) {
					return
				}
			}
		}, id)
	}
	return k
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
func (f inFlight[T]) close(dir transport.Direction, id []byte) (call T, ok bool) {
	call, ok = f.latest(dir, id)
	k := f.key(dir, id)
	switch n := len(f[k]); {
	case n > 1:
		f[k] = f[k][:n-1]
	case n == 1:
		delete(f, k)
	}
	return call, ok
}

// closeOn is close, but of several open requests with the id it takes the latest that
// fits, if one does.
func (f inFlight[T]) closeOn(dir transport.Direction, id []byte, fits func(T) bool) (call T, ok bool) {
	k := f.key(dir, id)
	calls := f[k]
	for i := len(calls) - 2; i >= 0 && !fits(calls[len(calls)-1]); i-- {
		if fits(calls[i]) {
			call = calls[i]
			f[k] = slices.Delete(calls, i, i+1)
			return call, true
		}
	}
	return f.close(dir, id)
}

// strayKey is what two answers have in common that belong to no request: a server
// gives one, with a null id, to what it could not read, and a faulty peer answers
// twice. They are said again as they were recorded.
func strayKey(m transport.Message) string { return "answer " + string(m.ID) }
