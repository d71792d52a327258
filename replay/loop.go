package replay

import (
	"sort"

	"github.com/mcprec/mcprec/transport"
)

// workSerially finds where a receive loop works at what it has read, and what the
// handler sends meanwhile. A request is worked at until its answer was taken. What
// is sent within that time needs the request alone, for nothing behind it was read:
// unless the handler has asked the peer something. That answer is behind the
// request, so the loop stands there for ever. A request without an answer in the
// recording is worked at for ever too.
//
// A tap between the ends does not see who sends. Taken for a handler's calls are
// those that a server sent and had answered while it worked at a request (but a
// ping, which is the session's), and the call that a notification makes its receiver
// do (see refetches) where no other call of the end comes before, and no request of
// the peer is open. A client's other calls are its application's.
//
// Where a request that was read later was answered no later, the recording shows
// that this end did read on, and nothing is held. Only a listen is worked at all
// the same: until it is cancelled.
func (r *Recording) workSerially(s *script) {
	w := serialWalk{r: r, s: s, latest: r.latestAnswered(s.own), open: r.openAt(s.own)}
	for _, f := range r.ways[s.own.Reverse()] {
		if w.read(r.frames[f]); w.stop != nil {
			break
		}
	}
	rise(s.need)
	if w.stop != nil {
		w.stand()
	}
	rise(s.hold)
}

// latestAnswered returns by number of own frames the last request frame that they
// answer.
func (r *Recording) latestAnswered(own transport.Direction) []int32 {
	latest := make([]int32, r.Frames(own)+1)
	for k, f := range r.ways[own] {
		latest[k+1], _ = r.answers(r.frames[f])
	}
	rise(latest)
	return latest
}

// openAt returns by index of own frames how many requests of the peer are open
// when it is sent. A listen is none.
func (r *Recording) openAt(own transport.Direction) []int32 {
	at, open := make([]int32, 0, r.Frames(own)), int32(0)
	for _, f := range r.frames {
		for _, m := range r.messagesOf(f) {
			switch {
			case f.dir != own && m.kind == transport.Request && m.method != methodListen:
				open++
			case f.dir == own && m.kind == transport.Response && m.pair >= 0 && r.messages[m.pair].method != methodListen:
				open--
			}
		}
		if f.dir == own {
			at = append(at, open)
		}
	}
	return at
}

// serialWalk goes through the frames that one end reads, as its receive loop does.
type serialWalk struct {
	r      *Recording
	s      *script
	latest []int32
	open   []int32 // by index of own frames: requests of the peer without an answer
	sent   int     // own frames that were sent when the loop reads on
	asking int     // own frame, the first with a call after what was read
	stop   *stop   // where the loop stands for ever
}

func (w *serialWalk) read(f playFrame) {
	for m := f.lo; m < f.hi; m++ {
		if w.r.messages[m].kind == transport.Request {
			w.request(f, m)
			return
		}
	}
	for m := f.lo; m < f.hi && w.stop == nil; m++ {
		if w.r.messages[m].kind == transport.Notification {
			w.notification(f, m)
		}
	}
}

// request works at the requests of a frame, of which the first is given.
func (w *serialWalk) request(f playFrame, index int32) {
	stop := stop{after: f.n, held: index, call: -1, awaited: w.r.listenCancelled(index), ends: never}
	until, last := int32(0), w.r.Frames(w.s.own)
	if k := w.r.answeredBy(f); k > 0 && stop.awaited < 0 {
		until, last = k, int(k)
	}
	if w.latest[last] > f.n && (until > 0 || w.r.messages[index].method != methodListen) {
		return // it did read on
	}
	from := w.after(f)
	if stop.awaited < 0 && w.s.own == transport.ServerToClient {
		w.ask(&stop, from, last, until > 0)
	}
	w.need(stop, from, last)
	w.s.hold[f.n], w.sent = until, max(w.sent, last)
	if until == 0 || stop.call >= 0 {
		w.stop = &stop
	}
}

// notification runs a handler that asks for what the notification is about.
func (w *serialWalk) notification(f playFrame, index int32) {
	from, own := w.after(f), w.r.ways[w.s.own]
	for w.asking = max(w.asking, from); w.asking < len(own); w.asking++ {
		call := w.r.callOf(w.r.frames[own[w.asking]])
		if call < 0 {
			continue
		}
		readOn := w.latest[w.asking+1] > f.n
		if w.open[w.asking] == 0 && !readOn && refetches(w.r.messages[index], w.r.messages[call]) {
			w.stop = &stop{after: f.n, held: index, call: call, awaited: w.r.messages[call].pair, ends: never}
			w.need(*w.stop, from, len(own))
		}
		return
	}
}

// after returns the first own frame that may have been sent by who works at f.
func (w *serialWalk) after(f playFrame) int {
	own := w.r.ways[w.s.own]
	return max(w.sent, sort.Search(len(own), func(i int) bool { return w.r.frames[own[i]].before >= f.n }))
}

// ask finds the call that a handler waits for, among own frames: one that was
// answered before the request was; of a request without an answer any.
func (w *serialWalk) ask(stop *stop, from, last int, answered bool) {
	own := w.r.ways[w.s.own]
	for i, f := range own[from:last] {
		if w.latest[from+i+1] > stop.after {
			return // it waits for what is behind
		}
		for index := w.r.frames[f].lo; index < w.r.frames[f].hi; index++ {
			m := w.r.messages[index]
			switch {
			case m.kind != transport.Request || m.method == methodListen:
			case m.pair < 0:
				if !answered && stop.call < 0 {
					stop.call = index
				}
			case m.method != methodPing && (!answered || w.r.messages[m.pair].frame < own[last-1]):
				stop.call, stop.awaited = index, m.pair
				return
			}
		}
	}
}

// need lets own frames be sent while the loop works: all up to the one that waits
// for what the loop does not read.
func (w *serialWalk) need(s stop, from, last int) {
	for i := from; i < last; i++ {
		f := w.r.frames[w.r.ways[w.s.own][i]]
		if s.call >= 0 && s.awaited >= 0 && f.before >= w.r.frameOf(s.awaited).n {
			return
		}
		answered, _ := w.r.answers(f)
		w.s.need[i] = max(s.after, answered)
	}
}

// stand ends the script at a stop. What is behind it and nothing but notifications
// may stay unread: nobody waits for those.
func (w *serialWalk) stand() {
	stop, need := w.stop, w.s.need
	stop.answered = stop.awaited >= 0
	stop.asked = int32(sort.Search(len(need), func(i int) bool { return need[i] > stop.after }))
	if stop.call >= 0 {
		stop.asked = w.r.frameOf(stop.call).n
	}
	w.s.stuck, w.s.hold[stop.after] = append(w.s.stuck, *stop), never
	behind := w.r.ways[w.s.own.Reverse()][stop.after:]
	for _, f := range behind {
		for _, m := range w.r.messagesOf(w.r.frames[f]) {
			if stop.answered || m.kind != transport.Notification {
				return
			}
		}
	}
	w.s.spare = int32(len(behind))
}

// callOf returns the first message of f that is a request and may be a handler's
// call; -1 when none is.
func (r *Recording) callOf(f playFrame) int32 {
	for index := f.lo; index < f.hi; index++ {
		if m := r.messages[index]; m.kind == transport.Request && m.method != methodListen && m.method != methodPing {
			return index
		}
	}
	return -1
}

// listenCancelled returns the notification that cancels a listen before it is
// answered; -1 for none, and of another request.
func (r *Recording) listenCancelled(request int32) int32 {
	end := r.messages[request].pair
	if r.messages[request].method != methodListen {
		return -1
	}
	for i := request + 1; i != end && int(i) < len(r.messages); i++ {
		if m := r.messages[i]; m.method == methodCancelled && m.pair == request {
			return i
		}
	}
	return -1
}

// refetches reports whether a call is what a notification makes its receiver do:
// list what has changed, read what was updated, ask a ready client for its roots.
func refetches(n, call playMessage) bool {
	switch n.method {
	case methodInitialized, "notifications/roots/list_changed":
		return call.method == methodRoots
	case "notifications/tools/list_changed":
		return call.method == "tools/list"
	case "notifications/prompts/list_changed":
		return call.method == "prompts/list"
	case "notifications/resources/list_changed":
		return call.method == "resources/list" || call.method == "resources/templates/list"
	case methodUpdated:
		return call.method == "resources/read" && call.target == n.target
	}
	return false
}
