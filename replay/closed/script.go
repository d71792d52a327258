package closed

import (
	"maps"
	"slices"
	"sort"

	"github.com/mcprec/mcprec/replay/internal/interrupt"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// forever is a hold that is never released.
const forever = int32(1<<31 - 1)

// script is one end's half of a recording under a model: the wait of each send and of each
// read. Both lists rise, so one counter each way is enough.
type script struct {
	own           transport.Direction // the direction this end sends in
	model         Model
	need          []int32 // need[k]: frames read before own frame k+1 is offered
	hold          []int32 // hold[j]: own frames acked before reading on after j frames
	stops         []stop  // notification queue, blocking: where the receive loop is stuck
	debt          int     // notification queue: size of the queue with which no stop occurs
	mayStayUnread int32   // blocking: last frames behind a stop that may stay unread
}

// newScript returns the half of the end that sends in direction own, or a part of it if the flag is raised.
func newScript(recording *Recording, own transport.Direction, model Model, flag *interrupt.Flag) *script {
	s := &script{own: own, model: model, hold: make([]int32, recording.Frames(own.Reverse())+1)}
	if model.kind == singleThreaded {
		s.need = singleThreadedNeeds(recording, own, flag)
		k := 0
		for j := range s.hold { // a read waits for every send before
			if flag.Raised() {
				break
			}
			for k < len(s.need) && s.need[k] <= int32(j) {
				k++
			}
			s.hold[j] = int32(k)
		}
		return s
	}
	for _, f := range recording.byDirection[own] { // a send waits for every frame recorded before
		if flag.Raised() {
			return s
		}
		s.need = append(s.need, recording.frames[f].before)
	}
	switch model.kind {
	case answersInline:
		s.answerInline(recording, flag)
	case notificationQueue:
		s.fillQueue(recording, flag)
	case blockingHandlers:
		s.blockInHandlers(recording, flag)
	}
	return s
}

// answerInline lets the reader stop after each request until the frames of the answer are
// taken. An answer waits only for its request and its turn. If the turn waits for a later
// frame, the recording shows that the end read on before it answered, and the reader does
// not stop.
func (s *script) answerInline(recording *Recording, flag *interrupt.Flag) {
	for k, f := range recording.byDirection[s.own] {
		if flag.Raised() {
			return
		}
		if n, only := recording.answers(recording.frames[f]); n > 0 && only {
			s.need[k] = n
		}
	}
	makeRising(s.need)
	for j, f := range recording.byDirection[s.own.Reverse()] {
		if flag.Raised() {
			return
		}
		k := recording.answeredBy(recording.frames[f])
		if k > 0 && s.need[k-1] <= int32(j+1) { // the answer is ready, see Model.answersFirst
			s.hold[j+1] = k
		}
	}
	makeRising(s.hold)
}

// makeRising raises each number to the greatest before.
func makeRising(list []int32) {
	for i := 1; i < len(list); i++ {
		list[i] = max(list[i], list[i-1])
	}
}

// singleThreadedNeeds fixes the order of a thread's sends and reads as far as the recording shows the
// order. Otherwise the send comes first.
//
// A recording made between the ends shows of an end: sends come before the reads recorded
// after; answers come after their requests; a frame sent after a response was recorded comes
// after the read of that response. A notification sent while a request of the peer is open
// is caused by that request. Initiations are left: requests, and notifications outside any
// call of the peer. An initiation of the peer recorded before may have crossed on the wire,
// and the model assumes so.
func singleThreadedNeeds(r *Recording, own transport.Direction, flag *interrupt.Flag) []int32 {
	w := rigidWalk{r: r, own: own, need: make([]int32, 0, r.Frames(own)), taken: takings(r, own.Reverse())}
	for _, f := range r.byDirection[own] {
		if flag.Raised() {
			break
		}
		w.upTo(f)
		w.send(r.frames[f])
	}
	makeRising(w.need)
	return w.need
}

// takings returns for each frame of direction dir the point of the recording, as a number of
// frames, before which the frame was not yet taken: the place of its delivered event, or else
// of the frame.
func takings(recording *Recording, dir transport.Direction) []int32 {
	taken := make([]int32, len(recording.byDirection[dir]))
	for j, f := range recording.byDirection[dir] {
		taken[j] = f + 1
	}
	known := int32(0)
	for _, d := range recording.delivered {
		if d.dir == dir && d.upto > known {
			taken[d.upto-1] = max(taken[d.upto-1], d.at)
			known = d.upto
		}
	}
	makeRising(taken)
	return taken
}

// rigidWalk goes through the recording from the view of one end.
type rigidWalk struct {
	r       *Recording
	own     transport.Direction
	need    []int32
	taken   []int32 // see takings
	marks   int     // delivered events seen
	known   int32   // peer's frames that were certainly read by now
	could   int32   // peer's frames that may have been read by now
	serving int     // requests of the peer in flight
}

// upTo reads the frames that may have been read before the frame with an index.
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

// send counts the answers in a frame, and notes the number of frames read before. A frame
// with a request, or outside any call of the peer, may have come before reads recorded
// earlier.
func (w *rigidWalk) send(frame recordedFrame) {
	serving := w.serving
	answers := false
	requests := false
	for _, m := range w.r.messagesOf(frame) {
		if m.kind == transport.Response && m.pair >= 0 {
			answers = true
			w.serving--
		}
		requests = requests || m.kind == transport.Request
	}
	need := w.known
	if answers || !requests && serving > 0 {
		answered, _ := w.r.answers(frame)
		need = max(need, w.could, answered)
	}
	w.need = append(w.need, need)
}

// stop is a place where a receive loop is stuck: a notification queue with a notification for which the
// queue has no room; a blocking loop at work that waits for a frame behind.
type stop struct {
	readBefore int32 // frames read; the last is in hand
	held       int32 // index of the message in hand
	call       int32 // index of the request in flight; -1: none
	awaited    int32 // index of the message behind that would end the wait; -1: not recorded
	sentBefore int32 // blocking: own frames sent before the stop
	releasedBy int32 // notification queue: own cancellation that would end the wait; or forever
	inside     bool  // notification queue: the awaited answer is in the held frame itself

	answered bool // the recording has the awaited message
}

// fillQueue finds the stops of the receive loop, which runs in the order of the recording. So the
// recording fixes its state at each notification: a call is in flight from the place of its
// request to the place of its response or cancellation.
func (s *script) fillQueue(recording *Recording, flag *interrupt.Flag) {
	w := inboxWalk{r: recording, s: s, loop: NewLoop[int32](s.model), flag: flag}
	w.walk()
	makeRising(s.hold)
	s.debt = recording.Debt(s.own)
}

// inboxWalk goes through the recording from the view of one end.
type inboxWalk struct {
	r     *Recording
	s     *script
	loop  *Loop[int32] // calls by the message of the request
	stop  *stop        // where the loop is stuck
	ended bool         // for ever
	flag  *interrupt.Flag

	levels []innerLevel // by number of frames read, for [Steps]; nil: not wanted
}

func (w *inboxWalk) walk() {
	for _, f := range w.r.frames {
		for m := f.lo; m < f.hi && !w.ended && !w.flag.Raised(); m++ {
			if f.dir == w.s.own {
				w.send(m, f.n)
			} else {
				w.read(m, f.n)
			}
		}
		if w.levels != nil && f.dir != w.s.own {
			w.levels = append(w.levels, innerLevel{size: int32(w.loop.queued), stuck: w.stop != nil || w.ended})
		}
	}
	if w.stop != nil {
		w.add(forever)
	}
}

func (w *inboxWalk) send(index, n int32) {
	m := &w.r.messages[index]
	switch {
	case m.kind == transport.Request:
		w.loop.Call(index, m.method)
	case m.method == mcp.NotificationCancelled && m.pair >= 0:
		w.finish(m.pair, n)
	}
}

func (w *inboxWalk) read(index, n int32) {
	m := &w.r.messages[index]
	switch {
	case m.kind == transport.Response && m.pair >= 0 && w.stop == nil:
		w.finish(m.pair, forever)
	case m.kind == transport.Response && w.loop.calls[m.pair]:
		// The answer is behind the held notification: the wait never ends.
		w.stop.call = m.pair
		w.stop.inside = n == w.stop.readBefore
		w.add(forever)
	case m.kind == transport.Notification && w.stop == nil:
		w.loop.Notify()
		if w.loop.Full() {
			w.stop = &stop{readBefore: n, held: index, call: slices.Min(slices.Collect(maps.Keys(w.loop.calls)))}
		}
	}
}

// finish ends a call; n is the own frame with the cancellation, or forever. After the last
// call the loop goes on.
func (w *inboxWalk) finish(request, n int32) {
	w.loop.End(request)
	if len(w.loop.calls) > 0 {
		return
	}
	if last := len(w.levels) - 1; last >= 0 && n != forever && w.levels[last].drained == 0 {
		w.levels[last].drained = n
	}
	if w.stop != nil {
		w.add(n)
	}
}

func (w *inboxWalk) add(releasedBy int32) {
	w.stop.awaited = w.r.messages[w.stop.call].pair
	w.stop.releasedBy = releasedBy
	w.stop.answered = w.stop.awaited >= 0
	w.s.stops = append(w.s.stops, *w.stop)
	w.s.hold[w.stop.readBefore] = releasedBy
	w.stop = nil
	w.ended = releasedBy == forever
}

// blockInHandlers finds where a receive loop works, and the frames that the handler sends
// meanwhile. The loop works at a request until the answer was taken. A frame sent meanwhile
// needs only the request, for no frame behind was read, unless the handler waits for a call
// to the peer. That answer is behind the request, so the loop is stuck for ever. The loop is
// also stuck at a request without an answer in the recording.
//
// A tap between the ends does not see who sends. The model attributes two kinds of call to a
// handler: the calls of a server that were sent and answered while the server worked at a
// request, except a ping, which belongs to the session; and the call that a notification
// makes its receiver do (see refetches), if no other call of the end comes before, and no
// request of the peer is open. The other calls of a client belong to its application.
//
// If a request that was read later was answered no later, the recording shows that the end
// read on, and the loop does not stop. Only a listen always has work: until the
// cancellation.
func (s *script) blockInHandlers(r *Recording, flag *interrupt.Flag) {
	w := serialWalk{r: r, s: s, flag: flag, latest: make([]int32, r.Frames(s.own)+1), open: openRequests(r, s.own)}
	for k, f := range r.byDirection[s.own] {
		w.latest[k+1], _ = r.answers(r.frames[f])
	}
	makeRising(w.latest)
	for _, f := range r.byDirection[s.own.Reverse()] {
		if w.read(r.frames[f]); w.stop != nil || flag.Raised() {
			break
		}
	}
	makeRising(s.need)
	if w.stop != nil {
		w.stand()
	}
	makeRising(s.hold)
}

// openRequests returns by index of own frames the number of the peer's open requests at the
// time of sending. A listen does not count.
func openRequests(r *Recording, own transport.Direction) []int32 {
	at := make([]int32, 0, r.Frames(own))
	open := int32(0)
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

// serialWalk goes through the frames that an end reads, as the receive loop does.
type serialWalk struct {
	r      *Recording
	s      *script
	latest []int32 // by number of own frames: the last answered request frame
	open   []int32 // by index of own frames: requests of the peer without an answer
	sent   int     // own frames sent when the loop reads on
	asking int     // the first own frame with a call after the last read frame
	stop   *stop   // where the loop is stuck for ever
	flag   *interrupt.Flag
}

func (w *serialWalk) read(frame recordedFrame) {
	for m := frame.lo; m < frame.hi; m++ {
		if asked := w.r.messages[m]; asked.kind == transport.Request && w.s.model.answersFirst(asked.method, true) {
			w.request(frame, m)
			return
		}
	}
	for m := frame.lo; m < frame.hi && w.stop == nil; m++ {
		if w.r.messages[m].kind == transport.Notification {
			w.notification(frame, m)
		}
	}
}

// request works at the requests of a frame; index is the first.
func (w *serialWalk) request(frame recordedFrame, index int32) {
	stop := stop{readBefore: frame.n, held: index, call: -1, awaited: w.listenCancelled(index), releasedBy: forever}
	until := int32(0)
	last := w.r.Frames(w.s.own)
	if k := w.r.answeredBy(frame); k > 0 && stop.awaited < 0 {
		until = k
		last = int(k)
	}
	if w.latest[last] > frame.n && (until > 0 || w.r.messages[index].method != mcp.MethodListen) {
		return // the loop did read on
	}
	from := w.after(frame)
	if stop.awaited < 0 && w.s.own == transport.ServerToClient {
		w.ask(&stop, from, last, until > 0)
	}
	w.need(stop, from, last)
	w.s.hold[frame.n], w.sent = until, max(w.sent, last)
	if until == 0 || stop.call >= 0 {
		w.stop = &stop
	}
}

// notification runs a handler that asks for the subject of the notification.
func (w *serialWalk) notification(frame recordedFrame, index int32) {
	from := w.after(frame)
	own := w.r.byDirection[w.s.own]
	for w.asking = max(w.asking, from); w.asking < len(own); w.asking++ {
		asks := w.r.frames[own[w.asking]]
		at := slices.IndexFunc(w.r.messagesOf(asks), func(m recordedMessage) bool {
			return m.kind == transport.Request && m.method != mcp.MethodListen && m.method != mcp.MethodPing
		})
		if at < 0 {
			continue
		}
		call := asks.lo + int32(at)
		readOn := w.latest[w.asking+1] > frame.n
		if w.open[w.asking] == 0 && !readOn && refetches(w.r.messages[index], w.r.messages[call]) {
			w.stop = &stop{readBefore: frame.n, held: index, call: call, awaited: w.r.messages[call].pair, releasedBy: forever}
			w.need(*w.stop, from, len(own))
		}
		return
	}
}

// after returns the first own frame that the handler of frame may have sent.
func (w *serialWalk) after(frame recordedFrame) int {
	own := w.r.byDirection[w.s.own]
	return max(w.sent, sort.Search(len(own), func(i int) bool { return w.r.frames[own[i]].before >= frame.n }))
}

// ask finds the call that a handler waits for, among own frames: a call that was answered
// before the request was. If the request has no answer, any call will do.
func (w *serialWalk) ask(stop *stop, from, last int, answered bool) {
	own := w.r.byDirection[w.s.own]
	for i, f := range own[from:last] {
		if w.latest[from+i+1] > stop.readBefore {
			return // the frame waits for a frame behind
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
				stop.call = index
				stop.awaited = m.pair
				return
			}
		}
	}
}

// need lets own frames be sent while the loop works, up to the frame that waits for a frame
// that the loop does not read.
func (w *serialWalk) need(stop stop, from, last int) {
	for i := from; i < last; i++ {
		f := w.r.frames[w.r.byDirection[w.s.own][i]]
		if stop.call >= 0 && stop.awaited >= 0 && f.before >= w.r.frameOf(stop.awaited).n {
			return
		}
		answered, _ := w.r.answers(f)
		w.s.need[i] = max(stop.readBefore, answered)
	}
}

// stand ends the script at a stop. If only notifications are behind, they may stay unread:
// nobody waits for notifications.
func (w *serialWalk) stand() {
	stop, need := w.stop, w.s.need
	stop.answered = stop.awaited >= 0
	stop.sentBefore = int32(sort.Search(len(need), func(i int) bool { return need[i] > stop.readBefore }))
	if stop.call >= 0 {
		stop.sentBefore = w.r.frameOf(stop.call).n
	}
	w.s.stops = append(w.s.stops, *stop)
	w.s.hold[stop.readBefore] = forever
	behind := w.r.byDirection[w.s.own.Reverse()][stop.readBefore:]
	for _, f := range behind {
		for _, m := range w.r.messagesOf(w.r.frames[f]) {
			if stop.answered || m.kind != transport.Notification {
				return
			}
		}
	}
	w.s.mayStayUnread = int32(len(behind))
}

// listenCancelled returns the notification that cancels a listen before the answer; -1 for
// none, and for any other request.
func (w *serialWalk) listenCancelled(request int32) int32 {
	end := w.r.messages[request].pair
	if w.r.messages[request].method != mcp.MethodListen {
		return -1
	}
	for i := request + 1; i != end && int(i) < len(w.r.messages) && !w.flag.Raised(); i++ {
		if m := w.r.messages[i]; m.method == mcp.NotificationCancelled && m.pair == request {
			return i
		}
	}
	return -1
}

// refetches reports whether a notification makes its receiver do a call: list a changed list,
// read an updated resource, ask a ready client for its roots.
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
