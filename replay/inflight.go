package replay

import "github.com/mcprec/mcprec/transport"

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
	calls := f[callKey{dir, string(id)}]
	if len(calls) == 0 {
		return call, false
	}
	return calls[len(calls)-1], true
}

// close removes and returns the latest open request with the id.
func (f inFlight[T]) close(dir transport.Direction, id []byte) (call T, ok bool) {
	call, ok = f.latest(dir, id)
	k := callKey{dir, string(id)}
	switch n := len(f[k]); {
	case n > 1:
		f[k] = f[k][:n-1]
	case n == 1:
		delete(f, k)
	}
	return call, ok
}
