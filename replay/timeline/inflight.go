package timeline

import (
	"encoding/json"
	"slices"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// InFlight holds the requests that are open, by the direction they went and
// their id. An id may be used again once it was answered (2026-07-28), and a
// faulty peer uses it before: over HTTP a response belongs to the request of its own
// exchange. Where no request of the exchange had the id, as on a stream that is taken up
// again or outside of requests, and on a pipe, it belongs to the first that is open.
type InFlight[T any] struct {
	calls map[CallKey][]*flight[T]            // in their order; the first and the last are not over
	on    map[uint64]map[CallKey][]*flight[T] // all of an HTTP exchange, until it ends
}

// flight is a request of InFlight.
type flight[T any] struct {
	call    T
	over    bool // it was answered, or its refused exchange has ended
	refused bool // by an HTTP status; only a message of its own exchange can be its answer
}

func (f *flight[T]) isOpen() bool { return !f.over && !f.refused }

// CallKey is an id, or a progress token, of the requests of one direction.
type CallKey struct {
	Dir transport.Direction
	ID  mcp.Key
}

// CallKeyOf returns the key of a raw id or progress token.
func CallKeyOf(dir transport.Direction, id json.RawMessage) CallKey {
	return CallKey{dir, mcp.KeyOf(id)}
}

// Open adds a request that went in direction dir on an HTTP exchange, or on 0, a pipe.
func (f *InFlight[T]) Open(dir transport.Direction, stream uint64, id json.RawMessage, call T) {
	f.openAt(CallKeyOf(dir, id), stream, call)
}

func (f *InFlight[T]) openAt(k CallKey, stream uint64, call T) *flight[T] {
	if f.calls == nil {
		f.calls = map[CallKey][]*flight[T]{}
	}
	x := &flight[T]{call: call}
	f.calls[k] = append(f.calls[k], x)
	f.askedOn(stream, k, x)
	return x
}

// answeredAt adds a request that was answered: its exchange may still have another answer.
func (f *InFlight[T]) answeredAt(k CallKey, stream uint64, call T) {
	f.askedOn(stream, k, &flight[T]{call: call, over: true})
}

// askedOn adds a request to its exchange.
func (f *InFlight[T]) askedOn(stream uint64, k CallKey, x *flight[T]) {
	if stream == 0 {
		return
	}
	if f.on == nil {
		f.on = map[uint64]map[CallKey][]*flight[T]{}
	}
	if f.on[stream] == nil {
		f.on[stream] = map[CallKey][]*flight[T]{}
	}
	f.on[stream][k] = append(f.on[stream][k], x)
}

// Latest returns the latest open request with the id that went in direction dir.
func (f *InFlight[T]) Latest(dir transport.Direction, id json.RawMessage) (call T, ok bool) {
	for _, x := range slices.Backward(f.calls[CallKeyOf(dir, id)]) {
		if x.isOpen() {
			return x.call, true
		}
	}
	return call, false
}

// Close removes and returns the request that went in direction dir and that a response
// on the exchange answers.
func (f *InFlight[T]) Close(dir transport.Direction, stream uint64, id json.RawMessage) (call T, ok bool) {
	k := CallKeyOf(dir, id)
	list, fits := f.on[stream][k], func(x *flight[T]) bool { return !x.over }
	if len(list) == 0 {
		list, fits = f.calls[k], (*flight[T]).isOpen
	}
	i := slices.IndexFunc(list, fits)
	if i < 0 {
		return call, false
	}
	x := list[i]
	x.over = true
	f.trim(k)
	return x.call, true
}

// trim takes away the requests with an id that are over, as far as no open one stands
// before and after them; to look for them would take long.
func (f *InFlight[T]) trim(k CallKey) {
	list := f.calls[k]
	for len(list) > 0 && list[0].over {
		list = list[1:]
	}
	for len(list) > 0 && list[len(list)-1].over {
		list = list[:len(list)-1]
	}
	if len(list) == 0 {
		delete(f.calls, k)
		return
	}
	f.calls[k] = list
}

// Refuse returns the open requests of an exchange, which an HTTP status has answered
// now. They stay for a message that the response has besides.
func (f *InFlight[T]) Refuse(stream uint64) (calls []T) {
	for _, list := range f.on[stream] {
		for _, x := range list {
			if x.isOpen() {
				x.refused = true
				calls = append(calls, x.call)
			}
		}
	}
	return calls
}

// end forgets an exchange. Its open requests may still be answered on another one, but
// for those that were refused.
func (f *InFlight[T]) end(stream uint64) {
	for k, list := range f.on[stream] {
		for _, x := range list {
			x.over = x.over || x.refused
		}
		f.trim(k)
	}
	delete(f.on, stream)
}

// Follow applies an HTTP event to the requests of its exchange, and returns the requests
// that its status answers, if it is not a status of success.
func (f *InFlight[T]) Follow(e store.Event) (refused []T, status int) {
	if len(f.on[e.Stream]) == 0 {
		return nil, 0
	}
	info, err := store.DecodePayload[store.HTTPInfo](e)
	if err != nil {
		return nil, 0
	}
	switch info.What {
	case store.HTTPResponse:
		if info.Status >= 300 {
			return f.Refuse(e.Stream), info.Status
		}
	case store.HTTPEnd, store.HTTPAbort, store.HTTPBroken, store.HTTPNone, store.HTTPLeft:
		f.end(e.Stream)
	}
	return nil, 0
}
