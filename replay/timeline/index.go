package timeline

import (
	"slices"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Index says which request a response, a progress notification or a cancellation belongs
// to. An Index takes messages one by one, so a reader of a live session can use one too.
//
// A Model has rules of its own, with scopes: see requests.go. An Index is for packages that have a kind of
// request of their own, and for live ones.
//
// Each direction has its own ids and progress tokens, which are compared as values of type
// K: an mcp.Key, or a hash of a Key. The zero K means that a message has no id or token. A
// client may use an id again after the answer (2026-07-28), and a faulty peer does before.
// Of several requests with the same id or token
//
//   - a response belongs to the first open request of the same HTTP exchange. If no request
//     of the exchange had the id, as on a resumed stream, and on a pipe, the response
//     belongs to the first open request;
//   - progress belongs to the latest request of the same HTTP exchange. If no request of
//     the exchange had the token, and on a pipe, progress belongs to the latest open
//     request, and if none is open to the latest request that is over;
//   - a cancellation belongs to the latest open request.
//
// An HTTP status that is no success answers the open requests of its exchange. A message in
// the body of the same response still belongs to its request.
//
// The zero Index is ready, and forgets requests at their end. An Index is not safe for
// concurrent use.
type Index[K comparable, T any] struct {
	ids       map[name[K]][]*asked[K, T] // in their order; the first and the last are not over
	tokens    map[name[K]][]*asked[K, T] // likewise
	exchanges map[uint64]*exchange[K, T] // HTTP exchanges, until they end

	remember   int // limit of past requests; below 0: no limit
	pastIDs    map[name[K]]*asked[K, T]
	pastTokens map[name[K]]*asked[K, T]
	past       []*asked[K, T] // with a limit: a ring in the order of ends
	ended      int            // past requests that the ring has lost
}

// All makes [NewModel] remember every call, and [NewIndex] every request.
const All = -1

// NewIndex returns an Index that remembers a number of past requests, the latest.
func NewIndex[K comparable, T any](remember int) Index[K, T] {
	return Index[K, T]{remember: remember}
}

// name is an id or a progress token of the requests of one direction.
type name[K comparable] struct {
	dir transport.Direction
	key K
}

// asked is a request of an Index.
type asked[K comparable, T any] struct {
	request   T
	stream    uint64
	id, token name[K]
	over      bool // answered, or the refused exchange has ended
	refused   bool // by an HTTP status; only a message of the same exchange can be the answer
}

func (a *asked[K, T]) isOpen() bool { return !a.over && !a.refused }

func (a *asked[K, T]) hasToken() bool {
	var none K
	return a.token.key != none
}

// exchange holds the open and past requests of an HTTP exchange.
type exchange[K comparable, T any] struct {
	ids    map[name[K]][]*asked[K, T]
	tokens map[name[K]]*asked[K, T] // the latest
}

// Ask adds a request that goes in direction dir on an HTTP exchange, or on 0, a pipe.
func (x *Index[K, T]) Ask(dir transport.Direction, stream uint64, id, token K, request T) {
	a := &asked[K, T]{request: request, stream: stream, id: name[K]{dir, id}, token: name[K]{dir, token}}
	if x.ids == nil {
		x.ids = map[name[K]][]*asked[K, T]{}
		x.tokens = map[name[K]][]*asked[K, T]{}
	}
	x.ids[a.id] = append(x.ids[a.id], a)
	if a.hasToken() {
		x.tokens[a.token] = append(x.tokens[a.token], a)
	}
	if stream == 0 {
		return
	}
	on := x.exchanges[a.stream]
	if on == nil {
		if x.exchanges == nil {
			x.exchanges = map[uint64]*exchange[K, T]{}
		}
		on = &exchange[K, T]{ids: map[name[K]][]*asked[K, T]{}}
		x.exchanges[a.stream] = on
	}
	on.ids[a.id] = append(on.ids[a.id], a)
	if a.hasToken() {
		if on.tokens == nil {
			on.tokens = map[name[K]]*asked[K, T]{}
		}
		on.tokens[a.token] = a
	}
}

// exchange returns the requests of an HTTP exchange; none of a pipe, or after the end.
func (x *Index[K, T]) exchange(stream uint64) exchange[K, T] {
	if on := x.exchanges[stream]; on != nil {
		return *on
	}
	return exchange[K, T]{}
}

// Answer ends and returns the request that went in direction dir and that a response on
// the exchange belongs to.
func (x *Index[K, T]) Answer(dir transport.Direction, stream uint64, id K) (request T, found bool) {
	a := x.find(dir, stream, id)
	if a != nil {
		x.over(a)
	}
	return a.value()
}

func (x *Index[K, T]) find(dir transport.Direction, stream uint64, id K) *asked[K, T] {
	k := name[K]{dir, id}
	list := x.exchange(stream).ids[k]
	fits := func(asked *asked[K, T]) bool { return !asked.over }
	if len(list) == 0 {
		list, fits = x.ids[k], (*asked[K, T]).isOpen
	}
	if i := slices.IndexFunc(list, fits); i >= 0 {
		return list[i]
	}
	return nil
}

// over ends a request.
func (x *Index[K, T]) over(asked *asked[K, T]) {
	asked.over = true
	if !asked.refused { // by the status that the message came with
		x.keep(asked)
	}
	x.trim(asked)
}

// Progress returns the request that went in direction dir and that progress on the
// exchange belongs to.
func (x *Index[K, T]) Progress(dir transport.Direction, stream uint64, token K) (request T, found bool) {
	k := name[K]{dir, token}
	a := x.exchange(stream).tokens[k]
	if a == nil {
		a = latestOpen(x.tokens[k])
	}
	if a == nil {
		a = x.pastTokens[k]
	}
	return a.value()
}

// Cancel returns the request that a cancellation in direction dir belongs to. The request
// stays open: the receiver may still answer.
func (x *Index[K, T]) Cancel(dir transport.Direction, id K) (request T, found bool) {
	return latestOpen(x.ids[name[K]{dir, id}]).value()
}

// Past returns the latest past request with the id, for a second answer or a late
// cancellation. A request of the same exchange comes before others.
func (x *Index[K, T]) Past(dir transport.Direction, stream uint64, id K) (request T, found bool) {
	k := name[K]{dir, id}
	for _, a := range slices.Backward(x.exchange(stream).ids[k]) {
		if !a.isOpen() {
			return a.request, true
		}
	}
	return x.pastIDs[k].value()
}

// Named returns the request that a message names by id, as a cancellation and a subscription
// id do: the latest open request, else the latest past one; the zero T if there is none.
func (x *Index[K, T]) Named(dir transport.Direction, id K) T {
	request, found := x.Cancel(dir, id)
	if !found {
		request, _ = x.Past(dir, 0, id)
	}
	return request
}

func latestOpen[K comparable, T any](list []*asked[K, T]) *asked[K, T] {
	for _, a := range slices.Backward(list) {
		if a.isOpen() {
			return a
		}
	}
	return nil
}

func (a *asked[K, T]) value() (request T, found bool) {
	if a == nil {
		return request, false
	}
	return a.request, true
}

// Follow applies an HTTP event to the requests of its exchange. If the event is a status of
// failure, Follow returns the requests that the status answers.
func (x *Index[K, T]) Follow(event store.Event) (refused []T, status int) {
	if x.exchanges[event.Stream] == nil {
		return nil, 0
	}
	info, err := store.DecodePayload[store.HTTPInfo](event)
	if err != nil {
		return nil, 0
	}
	switch info.What {
	case store.HTTPResponse:
		if info.Status >= 300 { // anything but success
			return x.Refuse(event.Stream), info.Status
		}
	case store.HTTPEnd, store.HTTPAbort, store.HTTPBroken, store.HTTPNone, store.HTTPLeft:
		x.End(event.Stream)
	}
	return nil, 0
}

// Refuse returns the open requests of an exchange, and notes that an HTTP status has
// answered them.
func (x *Index[K, T]) Refuse(stream uint64) (requests []T) {
	for _, list := range x.exchange(stream).ids {
		for _, a := range list {
			if a.isOpen() {
				a.refused = true
				x.keep(a)
				requests = append(requests, a.request)
			}
		}
	}
	return requests
}

// End forgets an exchange. Its open requests may still be answered on another exchange,
// except refused ones.
func (x *Index[K, T]) End(stream uint64) {
	for _, list := range x.exchange(stream).ids {
		for _, a := range list {
			a.over = a.over || a.refused
			x.trim(a)
		}
	}
	delete(x.exchanges, stream)
}

// trim removes past requests with the id or the token of a request from both ends of the
// lists. Past requests between open ones stay: a search for them would take long.
func (x *Index[K, T]) trim(asked *asked[K, T]) {
	trim(x.ids, asked.id)
	if asked.hasToken() {
		trim(x.tokens, asked.token)
	}
}

func trim[K comparable, T any](of map[name[K]][]*asked[K, T], name name[K]) {
	list := of[name]
	for len(list) > 0 && list[0].over {
		list = list[1:]
	}
	for len(list) > 0 && list[len(list)-1].over {
		list = list[:len(list)-1]
	}
	if len(list) == 0 {
		delete(of, name)
	} else {
		of[name] = list
	}
}

// keep remembers a request at its end, and forgets the oldest one beyond the limit.
func (x *Index[K, T]) keep(a *asked[K, T]) {
	if x.remember == 0 {
		return
	}
	if x.pastIDs == nil {
		x.pastIDs = map[name[K]]*asked[K, T]{}
		x.pastTokens = map[name[K]]*asked[K, T]{}
	}
	switch {
	case x.remember < 0:
	case len(x.past) < x.remember:
		x.past = append(x.past, a)
	default:
		oldest := &x.past[x.ended%x.remember]
		x.forget(*oldest)
		*oldest = a
		x.ended++
	}
	x.pastIDs[a.id] = a
	if a.hasToken() {
		x.pastTokens[a.token] = a
	}
}

func (x *Index[K, T]) forget(asked *asked[K, T]) {
	if x.pastIDs[asked.id] == asked {
		delete(x.pastIDs, asked.id)
	}
	if x.pastTokens[asked.token] == asked {
		delete(x.pastTokens, asked.token)
	}
}
