package replay

import "github.com/mcprec/mcprec/transport"

// stop is a place where a receive loop stands: inbox, with a notification that its
// queue has no room for; serial, at work for what is behind.
type stop struct {
	after   int32 // frames read, the last is the one held
	held    int32 // index of what it holds in the recording's messages
	call    int32 // index of the request in flight; -1: none
	awaited int32 // index of what would end that, and is behind; -1: not recorded
	asked   int32 // serial: own frames that it has said when it stands there
	ends    int32 // inbox: own frame, a cancellation, that would end the wait; or never
	inside  bool  // inbox: the awaited answer is in the held frame itself

	answered bool // the recording has what is awaited
}

// fillInbox finds where the receive loop stops. What a notification meets is
// fixed by the recording: a call is in flight from its request's place to its
// response's, or to its cancellation's. The queue is empty whenever no call is.
// A subscription's open request is not a call: its response ends the stream and
// nobody waits for it.
func (r *Recording) fillInbox(s *script) {
	w := inboxWalk{r: r, s: s, flying: map[int32]bool{}}
	for _, f := range r.frames {
		for m := f.lo; m < f.hi && !w.ended; m++ {
			if f.dir == s.own {
				w.send(m, f.n)
			} else {
				w.read(m, f.n)
			}
		}
	}
	if w.stop != nil {
		w.add(never)
	}
	rise(s.hold)
	s.debt = r.debt(s.own)
}

// inboxWalk goes through the recording with the eyes of one end.
type inboxWalk struct {
	r      *Recording
	s      *script
	flying map[int32]bool // calls of this end, by request
	queued int
	stop   *stop // where the loop stands
	ended  bool  // it stands there for ever
}

func (w *inboxWalk) send(index, n int32) {
	m := &w.r.messages[index]
	switch {
	case m.kind == transport.Request && m.method != methodListen:
		w.flying[index] = true
	case m.method == methodCancelled && m.pair >= 0:
		w.finish(m.pair, n)
	}
}

func (w *inboxWalk) read(index, n int32) {
	m := &w.r.messages[index]
	switch {
	case m.kind == transport.Response && m.pair >= 0 && w.stop == nil:
		w.finish(m.pair, never)
	case m.kind == transport.Response && w.flying[m.pair]:
		// The answer is behind the held notification: nothing ends this.
		w.stop.call = m.pair
		w.stop.inside = n == w.stop.after
		w.add(never)
	case m.kind == transport.Notification && len(w.flying) > 0 && w.stop == nil:
		if w.queued < w.s.model.queue {
			w.queued++
			return
		}
		w.stop = &stop{after: n, held: index, call: w.first()}
	}
}

// first returns the oldest call in flight.
func (w *inboxWalk) first() int32 {
	oldest := never
	for c := range w.flying {
		oldest = min(oldest, c)
	}
	return oldest
}

// finish ends a call, at own frame n where that frame cancels it. With the last
// one the queue is drained and the loop goes on.
func (w *inboxWalk) finish(request, n int32) {
	delete(w.flying, request)
	if len(w.flying) > 0 {
		return
	}
	w.queued = 0
	if w.stop != nil {
		w.add(n)
	}
}

func (w *inboxWalk) add(ends int32) {
	w.stop.awaited = w.r.messages[w.stop.call].pair
	w.stop.ends, w.stop.answered = ends, w.stop.awaited >= 0
	w.s.stuck = append(w.s.stuck, *w.stop)
	w.s.hold[w.stop.after] = ends
	w.stop, w.ended = nil, ends == never
}

// debt returns the least inner queue with which a late-draining receive loop of the end
// that sends in direction own reads all that it was sent. A notification that the end is
// given during its calls must be queued if a frame, or an answer in the same batch, follows
// it before those calls are over: else the loop would wait at the notification and never
// read what follows. A notification that nothing follows, as in a call that was never
// answered, need not be queued.
func (r *Recording) debt(own transport.Direction) int {
	open := map[int32]bool{}
	least, queued := 0, 0
	for _, f := range r.frames {
		if f.dir != own {
			least = max(least, queued)
		}
		for index := f.lo; index < f.hi; index++ {
			m := &r.messages[index]
			switch {
			case f.dir == own && m.kind == transport.Request && m.method != methodListen:
				open[index] = true
			case f.dir == own && m.method == methodCancelled:
				delete(open, m.pair)
			case f.dir != own && m.kind == transport.Response && open[m.pair]:
				least = max(least, queued) // also behind a notification of the same batch
				delete(open, m.pair)
			case f.dir != own && m.kind == transport.Notification && len(open) > 0:
				queued++
			}
			if len(open) == 0 {
				queued = 0
			}
		}
	}
	return least
}
