package replay

import (
	"slices"
	"sort"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// forever is a hold that no number of own frames ends.
const forever = int32(1<<31 - 1)

// script is one end's half of a recording under a model: what each send and
// each read waits for. Both lists rise, so one counter each way says all.
type script struct {
	own           transport.Direction // the direction this end sends in
	model         Model
	need          []int32 // need[k]: frames read before own frame k+1 is offered
	hold          []int32 // hold[j]: own frames acked before reading on after j frames
	stops         []stop  // inbox, serial: where the receive loop stands
	debt          int     // inbox: notifications a queue must take for no such stop
	mayStayUnread int32   // serial: last frames that may stay unread, behind such a stop
}

// newScript returns the half of the end that sends in direction own.
func newScript(r *Recording, own transport.Direction, m Model) *script {
	s := &script{own: own, model: m, hold: make([]int32, r.Frames(own.Reverse())+1)}
	if m.kind == rigid {
		s.need = rigidNeeds(r, own)
		k := 0
		for j := range s.hold { // a read waits for every send that stands before it
			for k < len(s.need) && s.need[k] <= int32(j) {
				k++
			}
			s.hold[j] = int32(k)
		}
		return s
	}
	for _, f := range r.byDirection[own] { // a send waits for all that was recorded before it
		s.need = append(s.need, r.frames[f].before)
	}
	switch m.kind {
	case inline:
		s.answerInline(r)
	case inbox:
		s.fillInbox(r)
	case serial:
		s.workSerially(r)
	}
	return s
}

// answerInline lets the reader stop after each request until the frames that
// answer it are taken. An answer waits for nothing but its request and its turn.
// Where the turn itself waits for a later frame, the recording shows that this
// end did read on before it answered, and nothing is held.
func (s *script) answerInline(r *Recording) {
	for k, f := range r.byDirection[s.own] {
		if n, only := r.answers(r.frames[f]); n > 0 && only {
			s.need[k] = n
		}
	}
	makeRising(s.need)
	for j, f := range r.byDirection[s.own.Reverse()] {
		k := r.answeredBy(r.frames[f])
		if k > 0 && s.need[k-1] <= int32(j+1) {
			s.hold[j+1] = k
		}
	}
	makeRising(s.hold)
}

// makeRising raises each number to the greatest before it.
func makeRising(list []int32) {
	for i := 1; i < len(list); i++ {
		list[i] = max(list[i], list[i-1])
	}
}

// rigidNeeds fixes the order of one thread's sends and reads, as far as the
// recording shows it, and lets the send come first where it does not.
//
// What a recording made between the ends shows of an end: its sends stand before
// the reads recorded after them; its answers after their requests; what it sends
// after a response was recorded, after reading that response. Notifications sent
// while a request of the peer is unanswered are caused by that request. What is
// left are an end's initiations: requests, and notifications outside any call of
// the peer. A peer's initiation recorded before one of those may have crossed it
// on the wire, and here it did.
func rigidNeeds(r *Recording, own transport.Direction) []int32 {
	w := rigidWalk{r: r, own: own, need: make([]int32, 0, r.Frames(own)), taken: takings(r, own.Reverse())}
	for _, f := range r.byDirection[own] {
		w.upTo(f)
		w.send(r.frames[f])
	}
	makeRising(w.need)
	return w.need
}

// takings returns for each frame of direction dir the point of the recording (as
// a number of frames) before which it was not yet taken: a delivered event says
// when its last frame was, for others it is the frame's own place.
func takings(r *Recording, dir transport.Direction) []int32 {
	taken := make([]int32, len(r.byDirection[dir]))
	for j, f := range r.byDirection[dir] {
		taken[j] = f + 1
	}
	known := int32(0)
	for _, d := range r.delivered {
		if d.dir == dir && d.upto > known {
			taken[d.upto-1] = max(taken[d.upto-1], d.at)
			known = d.upto
		}
	}
	makeRising(taken)
	return taken
}

// rigidWalk goes through the recording with the eyes of one end.
type rigidWalk struct {
	r       *Recording
	own     transport.Direction
	need    []int32
	taken   []int32 // see takings
	marks   int     // delivered events seen
	known   int32   // peer's frames that what comes next certainly follows
	could   int32   // peer's frames that may have been read by now
	serving int     // requests of the peer in flight
}

// upTo reads what may have been read before the frame with that index.
func (w *rigidWalk) upTo(index int32) {
	for int(w.could) < len(w.taken) && w.taken[w.could] <= index {
		w.could++
		f := w.r.frames[w.r.nth(w.own.Reverse(), int(w.could))]
		for _, m := range w.r.messagesOf(f) {
			switch {
			case m.kind == transport.Request:
				w.serving++
			case m.kind == transport.Response && m.pair >= 0,
				m.method == mcp.NotificationInitialized && w.own == transport.ServerToClient:
				w.known = max(w.known, f.n)
			}
		}
	}
	for marks := w.r.delivered; w.marks < len(marks) && marks[w.marks].at <= index; w.marks++ {
		if d := marks[w.marks]; d.dir != w.own {
			w.known = max(w.known, d.upto)
		}
	}
}

// send counts the answers in a frame, and notes what was read before it. A frame with a
// request, or outside any call of the peer, may have come before reads recorded earlier.
func (w *rigidWalk) send(f recordedFrame) {
	serving, answers, requests := w.serving, false, false
	for _, m := range w.r.messagesOf(f) {
		if m.kind == transport.Response && m.pair >= 0 {
			answers = true
			w.serving--
		}
		requests = requests || m.kind == transport.Request
	}
	need := w.known
	if answers || !requests && serving > 0 {
		answered, _ := w.r.answers(f)
		need = max(need, w.could, answered)
	}
	w.need = append(w.need, need)
}

// stop is a place where a receive loop stands: inbox, with a notification that its
// queue has no room for; serial, at work for what is behind.
type stop struct {
	after   int32 // frames read, the last is the one held
	held    int32 // index of what it holds in the recording's messages
	call    int32 // index of the request in flight; -1: none
	awaited int32 // index of what would end that, and is behind; -1: not recorded
	asked   int32 // serial: own frames that it has said when it stands there
	ends    int32 // inbox: own frame, a cancellation, that would end the wait; or forever
	inside  bool  // inbox: the awaited answer is in the held frame itself

	answered bool // the recording has what is awaited
}

// fillInbox finds where the receive loop stops. What a notification meets is
// fixed by the recording: a call is in flight from its request's place to its
// response's, or to its cancellation's. The queue is empty whenever no call is.
// A subscription's open request is not a call: its response ends the stream and
// nobody waits for it.
func (s *script) fillInbox(r *Recording) {
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
		w.add(forever)
	}
	makeRising(s.hold)
	s.debt = r.Debt(s.own)
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
	case m.kind == transport.Request && m.method != mcp.MethodListen:
		w.flying[index] = true
	case m.method == mcp.NotificationCancelled && m.pair >= 0:
		w.finish(m.pair, n)
	}
}

func (w *inboxWalk) read(index, n int32) {
	m := &w.r.messages[index]
	switch {
	case m.kind == transport.Response && m.pair >= 0 && w.stop == nil:
		w.finish(m.pair, forever)
	case m.kind == transport.Response && w.flying[m.pair]:
		// The answer is behind the held notification: nothing ends this.
		w.stop.call = m.pair
		w.stop.inside = n == w.stop.after
		w.add(forever)
	case m.kind == transport.Notification && len(w.flying) > 0 && w.stop == nil:
		if w.queued < w.s.model.queue {
			w.queued++
			return
		}
		oldest := forever
		for c := range w.flying {
			oldest = min(oldest, c)
		}
		w.stop = &stop{after: n, held: index, call: oldest}
	}
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
	w.s.stops = append(w.s.stops, *w.stop)
	w.s.hold[w.stop.after] = ends
	w.stop, w.ended = nil, ends == forever
}

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
func (s *script) workSerially(r *Recording) {
	w := serialWalk{r: r, s: s, latest: make([]int32, r.Frames(s.own)+1), open: openRequests(r, s.own)}
	for k, f := range r.byDirection[s.own] {
		w.latest[k+1], _ = r.answers(r.frames[f])
	}
	makeRising(w.latest)
	for _, f := range r.byDirection[s.own.Reverse()] {
		if w.read(r.frames[f]); w.stop != nil {
			break
		}
	}
	makeRising(s.need)
	if w.stop != nil {
		w.stand()
	}
	makeRising(s.hold)
}

// openRequests returns by index of own frames how many requests of the peer are open
// when it is sent. A listen is none.
func openRequests(r *Recording, own transport.Direction) []int32 {
	at, open := make([]int32, 0, r.Frames(own)), int32(0)
	for _, f := range r.frames {
		for _, m := range r.messagesOf(f) {
			switch {
			case f.dir != own && m.kind == transport.Request && m.method != mcp.MethodListen:
				open++
			case f.dir == own && m.kind == transport.Response && m.pair >= 0 && r.messages[m.pair].method != mcp.MethodListen:
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
	latest []int32 // by number of own frames: the last request frame that they answer
	open   []int32 // by index of own frames: requests of the peer without an answer
	sent   int     // own frames that were sent when the loop reads on
	asking int     // own frame, the first with a call after what was read
	stop   *stop   // where the loop stands for ever
}

func (w *serialWalk) read(f recordedFrame) {
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
func (w *serialWalk) request(f recordedFrame, index int32) {
	stop := stop{after: f.n, held: index, call: -1, awaited: w.listenCancelled(index), ends: forever}
	until, last := int32(0), w.r.Frames(w.s.own)
	if k := w.r.answeredBy(f); k > 0 && stop.awaited < 0 {
		until, last = k, int(k)
	}
	if w.latest[last] > f.n && (until > 0 || w.r.messages[index].method != mcp.MethodListen) {
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
func (w *serialWalk) notification(f recordedFrame, index int32) {
	from, own := w.after(f), w.r.byDirection[w.s.own]
	for w.asking = max(w.asking, from); w.asking < len(own); w.asking++ {
		asks := w.r.frames[own[w.asking]]
		at := slices.IndexFunc(w.r.messagesOf(asks), func(m recordedMessage) bool {
			return m.kind == transport.Request && m.method != mcp.MethodListen && m.method != mcp.MethodPing
		})
		if at < 0 {
			continue
		}
		call := asks.lo + int32(at)
		readOn := w.latest[w.asking+1] > f.n
		if w.open[w.asking] == 0 && !readOn && refetches(w.r.messages[index], w.r.messages[call]) {
			w.stop = &stop{after: f.n, held: index, call: call, awaited: w.r.messages[call].pair, ends: forever}
			w.need(*w.stop, from, len(own))
		}
		return
	}
}

// after returns the first own frame that may have been sent by who works at f.
func (w *serialWalk) after(f recordedFrame) int {
	own := w.r.byDirection[w.s.own]
	return max(w.sent, sort.Search(len(own), func(i int) bool { return w.r.frames[own[i]].before >= f.n }))
}

// ask finds the call that a handler waits for, among own frames: one that was
// answered before the request was; of a request without an answer any.
func (w *serialWalk) ask(stop *stop, from, last int, answered bool) {
	own := w.r.byDirection[w.s.own]
	for i, f := range own[from:last] {
		if w.latest[from+i+1] > stop.after {
			return // it waits for what is behind
		}
		for index := w.r.frames[f].lo; index < w.r.frames[f].hi; index++ {
			m := w.r.messages[index]
			switch {
			case m.kind != transport.Request || m.method == mcp.MethodListen:
			case m.pair < 0:
				if !answered && stop.call < 0 {
					stop.call = index
				}
			case m.method != mcp.MethodPing && (!answered || w.r.messages[m.pair].frame < own[last-1]):
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
		f := w.r.frames[w.r.byDirection[w.s.own][i]]
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
	w.s.stops, w.s.hold[stop.after] = append(w.s.stops, *stop), forever
	behind := w.r.byDirection[w.s.own.Reverse()][stop.after:]
	for _, f := range behind {
		for _, m := range w.r.messagesOf(w.r.frames[f]) {
			if stop.answered || m.kind != transport.Notification {
				return
			}
		}
	}
	w.s.mayStayUnread = int32(len(behind))
}

// listenCancelled returns the notification that cancels a listen before it is
// answered; -1 for none, and of another request.
func (w *serialWalk) listenCancelled(request int32) int32 {
	end := w.r.messages[request].pair
	if w.r.messages[request].method != mcp.MethodListen {
		return -1
	}
	for i := request + 1; i != end && int(i) < len(w.r.messages); i++ {
		if m := w.r.messages[i]; m.method == mcp.NotificationCancelled && m.pair == request {
			return i
		}
	}
	return -1
}

// refetches reports whether a call is what a notification makes its receiver do:
// list what has changed, read what was updated, ask a ready client for its roots.
func refetches(n, call recordedMessage) bool {
	switch n.method {
	case mcp.NotificationInitialized, mcp.NotificationRootsListChanged:
		return call.method == mcp.MethodListRoots
	case mcp.NotificationToolListChanged:
		return call.method == mcp.MethodListTools
	case mcp.NotificationPromptListChanged:
		return call.method == mcp.MethodListPrompts
	case mcp.NotificationResourceListChanged:
		return call.method == mcp.MethodListResources || call.method == mcp.MethodListResourceTemplates
	case mcp.NotificationResourceUpdated:
		return call.method == mcp.MethodReadResource && call.target == n.target
	}
	return false
}
