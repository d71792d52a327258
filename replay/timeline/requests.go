package timeline

import (
	"cmp"
	"slices"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// requests says which call a response, a progress notification or a cancellation belongs to.
//
// Ids and progress tokens are unique in a scope and a direction. A client may use an id again after the
// answer (2026-07-28), and a faulty peer does before. Of several calls with the same id or token
//
//   - a response belongs to an open call of the same HTTP exchange. If no call of the exchange had
//     the id, as on a resumed stream, and on a pipe, the response belongs to an open call of the
//     scope. Of several it is the first whose method has such results, see answers.go;
//   - progress belongs to the latest call of the same HTTP exchange. If no call of the exchange had the
//     token, and on a pipe, progress belongs to the latest open call of the scope, and if none is open to
//     the latest call that is over;
//   - a cancellation belongs to the latest open call of the scope. In a shared scope it belongs to the only
//     open call with the id that was not cancelled before: of two, either may be another client's.
//
// Over HTTP a peer may forget to name its session. What names none and finds no call in the shared scope
// belongs to the only open call of all scopes with the id or token; what names one may belong to the only such
// call of the shared scope.
//
// An id or a token that no call has, and whose brother of the other type one has ("7" for 7), belongs to that
// call: many clients take it so.
//
// An HTTP status that is no success answers the open calls of its exchange. A message in the body of the
// same response still belongs to its call.
type requests struct {
	ids    map[scoped]callList // in their order; the first and the last are not over
	tokens map[scoped]callList // likewise
	on     map[uint64]*exchangeCalls

	shared *Scope // of what names no session over HTTP

	remember   int // limit of past calls; below 0: no limit
	pastIDs    map[scoped]*Call
	pastTokens map[scoped]*Call
	ring       callList // with a limit: the past calls in the order of their ends
	evicted    int      // past calls that the ring has lost
}

// scoped is an id or a progress token of one direction in a scope. Scope nil: in any scope over HTTP.
type scoped struct {
	scope *Scope
	local
}

// local is an id or a progress token of one direction.
type local struct {
	dir transport.Direction
	key mcp.Key
}

// exchangeCalls are the open and past calls of an HTTP exchange, by their names.
type exchangeCalls struct {
	ids    map[local]callList
	tokens map[local]*Call // the latest
}

func newRequests(remember int, shared *Scope) requests {
	return requests{
		shared: shared,
		ids:    map[scoped]callList{}, tokens: map[scoped]callList{}, on: map[uint64]*exchangeCalls{},
		remember: remember, pastIDs: map[scoped]*Call{}, pastTokens: map[scoped]*Call{},
	}
}

func (c *Call) localID() local    { return local{c.Dir, c.id} }
func (c *Call) localToken() local { return local{c.Dir, c.token} }

// ask adds a call. It returns the calls with the same id and with the same progress token: of the exchange if
// there is one, else of the scope.
func (r *requests) ask(call *Call) (sameID, sameToken *Call) {
	sameID, sameToken = r.list(call.Scope, call)
	if sameID == nil {
		sameID = r.pastIDs[scoped{call.Scope, call.localID()}]
	}
	if sameToken == nil && call.token != "" {
		sameToken = r.pastTokens[scoped{call.Scope, call.localToken()}]
	}
	if call.Stream == 0 {
		return sameID, sameToken
	}
	r.list(nil, call)
	on := r.on[call.Stream]
	if on == nil {
		on = &exchangeCalls{ids: map[local]callList{}, tokens: map[local]*Call{}}
		r.on[call.Stream] = on
	}
	if before := on.ids[call.localID()]; len(before) > 0 {
		sameID = cmp.Or(before.latestOpen(), before[len(before)-1])
	}
	on.ids[call.localID()] = append(on.ids[call.localID()], call)
	if call.token != "" {
		sameToken = cmp.Or(on.tokens[call.localToken()], sameToken)
		on.tokens[call.localToken()] = call
	}
	if call.Exchange != nil {
		call.Exchange.calls = append(call.Exchange.calls, call)
	}
	return sameID, sameToken
}

// list adds a call to those of a scope. It returns the latest open ones with the same id and the same progress
// token.
func (r *requests) list(scope *Scope, call *Call) (sameID, sameToken *Call) {
	id := scoped{scope, call.localID()}
	before := r.ids[id]
	sameID = before.latestOpen()
	r.ids[id] = append(before, call)
	if call.token != "" {
		token := scoped{scope, call.localToken()}
		before = r.tokens[token]
		sameToken = before.latestOpen()
		r.tokens[token] = append(before, call)
	}
	return sameID, sameToken
}

// move gives a call another scope.
func (r *requests) move(call *Call, to *Scope) {
	from := call.Scope
	call.Scope = to
	if isThis := func(c *Call) bool { return c == call }; !call.over {
		for of, named := range map[*map[scoped]callList]local{&r.ids: call.localID(), &r.tokens: call.localToken()} {
			list := slices.DeleteFunc((*of)[scoped{from, named}], isThis)
			if (*of)[scoped{from, named}] = list; len(list) == 0 {
				delete(*of, scoped{from, named})
			}
		}
		r.list(to, call)
	}
	if r.pastIDs[scoped{from, call.localID()}] == call {
		delete(r.pastIDs, scoped{from, call.localID()})
		r.pastIDs[scoped{to, call.localID()}] = call
	}
	if r.pastTokens[scoped{from, call.localToken()}] == call {
		delete(r.pastTokens, scoped{from, call.localToken()})
		r.pastTokens[scoped{to, call.localToken()}] = call
	}
}

// candidates returns the open calls that went in direction dir and that a response may belong to.
func (r *requests) candidates(scope *Scope, dir transport.Direction, stream uint64, id mcp.Key) callList {
	key := local{dir, id}
	if on := r.on[stream]; on != nil && len(on.ids[key]) > 0 {
		return on.ids[key].that(func(c *Call) bool { return !c.over })
	}
	if open := r.ids[scoped{scope, key}].that((*Call).isOpen); len(open) > 0 || stream == 0 {
		return open
	}
	if call := r.ids[scoped{r.elsewhere(scope), key}].only(); call != nil {
		return callList{call}
	}
	return nil
}

// answered returns the call that a response belongs to, and that went in direction dir.
func (r *requests) answered(scope *Scope, dir transport.Direction, stream uint64, id mcp.Key) *Call {
	if open := r.candidates(scope, dir, stream, id); len(open) > 0 {
		return open[0]
	}
	return nil
}

// progress returns the call that progress belongs to, and that went in direction dir.
func (r *requests) progress(scope *Scope, dir transport.Direction, stream uint64, token mcp.Key) *Call {
	key := local{dir, token}
	if on := r.on[stream]; on != nil && on.tokens[key] != nil {
		return on.tokens[key]
	}
	if call := r.tokens[scoped{scope, key}].latestOpen(); call != nil {
		return call
	}
	if past := r.pastTokens[scoped{scope, key}]; past != nil || stream == 0 {
		return past
	}
	return r.tokens[scoped{r.elsewhere(scope), key}].only()
}

// cancelled returns the call that a cancellation in direction dir belongs to. The call stays open: the
// receiver may still answer.
func (r *requests) cancelled(scope *Scope, dir transport.Direction, id mcp.Key) *Call {
	key := local{dir, id}
	if !scope.Shared {
		if call := r.ids[scoped{scope, key}].latestOpen(); call != nil || scope.pipe {
			return call
		}
	}
	list := r.ids[scoped{r.elsewhere(scope), key}]
	isCandidate := func(call *Call) bool { return call.isOpen() && call.Cancelled == 0 }
	first := slices.IndexFunc(list, isCandidate)
	if first >= 0 && slices.ContainsFunc(list[first+1:], isCandidate) {
		return nil
	}
	if first >= 0 {
		return list[first]
	}
	if latest := list.latestOpen(); latest != nil && latest.hungUp { // the client says so, too
		return latest
	}
	return list.only()
}

// elsewhere returns the scope to look in for what has no call in its own: nil, for all, from the shared one.
func (r *requests) elsewhere(scope *Scope) *Scope {
	if scope.Shared {
		return nil
	}
	return r.shared
}

// past returns the latest past call with the id, for a second answer or a late cancellation. A call of the
// same exchange comes before others.
func (r *requests) past(scope *Scope, dir transport.Direction, stream uint64, id mcp.Key) *Call {
	key := local{dir, id}
	if on := r.on[stream]; on != nil {
		for _, call := range slices.Backward(on.ids[key]) {
			if !call.isOpen() {
				return call
			}
		}
	}
	return r.pastIDs[scoped{scope, key}]
}

// callList is calls in the order of their requests.
type callList []*Call

// that returns the calls for which a condition holds; mostly these are all.
func (list callList) that(holds func(*Call) bool) callList {
	if !slices.ContainsFunc(list, func(c *Call) bool { return !holds(c) }) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(c *Call) bool { return !holds(c) })
}

func (list callList) firstOpen() *Call {
	if i := slices.IndexFunc(list, (*Call).isOpen); i >= 0 {
		return list[i]
	}
	return nil
}

func (list callList) latestOpen() *Call {
	for _, call := range slices.Backward(list) {
		if call.isOpen() {
			return call
		}
	}
	return nil
}

// only returns the only open call, or nil.
func (list callList) only() *Call {
	if call := list.firstOpen(); call == list.latestOpen() {
		return call
	}
	return nil
}

// over ends a call.
func (r *requests) over(call *Call) {
	call.over = true
	if !call.refused { // by the status that the message came with
		r.keep(call)
	}
	r.trim(call)
}

// isAnyOpen reports whether a call of a direction that meets a condition is open in a scope.
func (r *requests) isAnyOpen(scope *Scope, dir transport.Direction, isOne func(*Call) bool) bool {
	for named, list := range r.ids {
		if named.scope == scope && named.dir == dir && slices.ContainsFunc(list, func(c *Call) bool { return c.isOpen() && isOne(c) }) {
			return true
		}
	}
	return false
}

// reopen takes back the answer to a call.
func (r *requests) reopen(call *Call) {
	call.Response = 0
	call.Latency = 0
	call.Failure = ""
	call.over = false
	r.forget(call)
	for _, scope := range []*Scope{call.Scope, nil} {
		if scope == nil && call.Stream == 0 {
			break
		}
		insert(r.ids, scoped{scope, call.localID()}, call)
		if call.token != "" {
			insert(r.tokens, scoped{scope, call.localToken()}, call)
		}
	}
}

// insert puts a call into a list, in the order of the requests.
func insert(of map[scoped]callList, named scoped, call *Call) {
	list := of[named]
	if slices.Contains(list, call) {
		return
	}
	at, _ := slices.BinarySearchFunc(list, call, func(a, b *Call) int { return a.number - b.number })
	of[named] = slices.Insert(slices.Clone(list), at, call)
}

// openOn returns the open calls of an exchange.
func (r *requests) openOn(stream uint64) (open []*Call) {
	if on := r.on[stream]; on != nil {
		for _, list := range on.ids {
			for _, call := range list {
				if call.isOpen() {
					open = append(open, call)
				}
			}
		}
	}
	return open
}

// refuse returns the open calls of an exchange, and notes that an HTTP status has answered them.
func (r *requests) refuse(stream uint64) []*Call {
	refused := r.openOn(stream)
	for _, call := range refused {
		call.refused = true
		r.keep(call)
	}
	return refused
}

// end forgets an exchange. It returns its open calls, which may still be answered on another exchange, and
// its refused calls, which are over.
func (r *requests) end(stream uint64) (left, over []*Call) {
	on := r.on[stream]
	if on == nil {
		return nil, nil
	}
	for _, list := range on.ids {
		for _, call := range list {
			switch {
			case call.over:
			case call.refused:
				call.over = true
				over = append(over, call)
			default:
				left = append(left, call)
			}
			r.trim(call)
		}
	}
	delete(r.on, stream)
	return left, over
}

// trim removes past calls with the id or the token of a call from both ends of the lists. Past calls
// between open ones stay: a search for them would take long.
func (r *requests) trim(call *Call) {
	trimList(r.ids, scoped{call.Scope, call.localID()})
	trimList(r.tokens, scoped{call.Scope, call.localToken()})
	if call.Stream != 0 {
		trimList(r.ids, scoped{nil, call.localID()})
		trimList(r.tokens, scoped{nil, call.localToken()})
	}
}

func trimList(of map[scoped]callList, named scoped) {
	list, found := of[named]
	if !found {
		return
	}
	for len(list) > 0 && list[0].over {
		list = list[1:]
	}
	for len(list) > 0 && list[len(list)-1].over {
		list = list[:len(list)-1]
	}
	if len(list) == 0 {
		delete(of, named)
	} else {
		of[named] = list
	}
}

// keep remembers a call at its end, and forgets the oldest one beyond the limit.
func (r *requests) keep(call *Call) {
	switch {
	case r.remember == 0:
		return
	case r.remember < 0:
	case len(r.ring) < r.remember:
		r.ring = append(r.ring, call)
	default:
		oldest := &r.ring[r.evicted%r.remember]
		(*oldest).evicted = true
		if task := (*oldest).Task; task == nil || task.Over || task.Maker != *oldest { // else its progress may come
			r.forget(*oldest)
		}
		*oldest = call
		r.evicted++
	}
	r.pastIDs[scoped{call.Scope, call.localID()}] = call
	if call.token != "" {
		r.pastTokens[scoped{call.Scope, call.localToken()}] = call
	}
}

func (r *requests) forget(call *Call) {
	if id := (scoped{call.Scope, call.localID()}); r.pastIDs[id] == call {
		delete(r.pastIDs, id)
	}
	if token := (scoped{call.Scope, call.localToken()}); r.pastTokens[token] == call {
		delete(r.pastTokens, token)
	}
}
