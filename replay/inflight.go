package replay

import (
	"encoding/json"
	"slices"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// inFlight holds the requests that are open, by the direction they went and
// their id. An id may be used again once it was answered (2026-07-28), and a
// faulty peer uses it before: a response belongs to the latest open request.
type inFlight[T any] struct {
	calls map[callKey][]T
}

// callKey is an id, or a progress token, of the requests of one direction.
type callKey struct {
	dir transport.Direction
	id  mcp.Key
}

func keyOf(dir transport.Direction, id json.RawMessage) callKey { return callKey{dir, mcp.KeyOf(id)} }

func (f *inFlight[T]) open(dir transport.Direction, id json.RawMessage, call T) {
	f.openAt(keyOf(dir, id), call)
}

func (f *inFlight[T]) openAt(k callKey, call T) {
	if f.calls == nil {
		f.calls = map[callKey][]T{}
	}
	f.calls[k] = append(f.calls[k], call)
}

// latest returns the latest open request with the id that went in direction dir.
func (f *inFlight[T]) latest(dir transport.Direction, id json.RawMessage) (call T, ok bool) {
	calls := f.calls[keyOf(dir, id)]
	if len(calls) == 0 {
		return call, false
	}
	return calls[len(calls)-1], true
}

// close removes and returns the latest open request with the id.
func (f *inFlight[T]) close(dir transport.Direction, id json.RawMessage) (call T, ok bool) {
	return f.closeAt(keyOf(dir, id))
}

func (f *inFlight[T]) closeAt(k callKey) (call T, ok bool) {
	calls := f.calls[k]
	if len(calls) == 0 {
		return call, false
	}
	last := len(calls) - 1
	call = calls[last]
	f.put(k, calls[:last])
	return call, true
}

// put sets the open requests with an id, and forgets an id that no request has any more.
func (f *inFlight[T]) put(k callKey, calls []T) {
	if len(calls) == 0 {
		delete(f.calls, k)
		return
	}
	f.calls[k] = calls
}

// remove removes the open requests with the id that fit.
func (f *inFlight[T]) remove(dir transport.Direction, id json.RawMessage, fits func(T) bool) {
	k := keyOf(dir, id)
	f.put(k, slices.DeleteFunc(f.calls[k], fits))
}

// namesakes is how many open requests with one id are looked through.
const namesakes = 1000

// closeOn is close, but of several open requests with the id it takes the latest that
// fits, if one of the latest does.
func (f *inFlight[T]) closeOn(dir transport.Direction, id json.RawMessage, fits func(T) bool) (call T, ok bool) {
	k := keyOf(dir, id)
	calls := f.calls[k]
	for i := len(calls) - 1; i >= max(0, len(calls)-namesakes); i-- {
		if fits(calls[i]) {
			call = calls[i]
			f.put(k, slices.Delete(calls, i, i+1))
			return call, true
		}
	}
	return f.closeAt(k)
}

// strayKey is what two answers have in common that belong to no request: a server
// gives one, with a null id, to what it could not read, and a faulty peer answers
// twice. They are said again as they were recorded.
func strayKey(m transport.Message) string { return "answer " + string(mcp.KeyOf(m.ID)) }
