package closed

import "github.com/mcprec/mcprec/transport/mcp"

// Loop is the receive loop of an end under a model: told what its end sends and hears, it says
// whether it reads on. A live end tells it in the order of the run. A script, which holds for
// every order, is what a Loop does in the order of the recording. C names a request: by its id,
// or by its place in a recording. The single-threaded model has one order and no loop; it reads on.
type Loop[C comparable] struct {
	model  Model
	calls  map[C]bool // own calls without an answer
	queued int        // notifications in the inner queue
	full   bool       // it holds a notification for which the queue has no room
	owed   map[C]bool // requests of the other end to answer before it reads on
}

// NewLoop returns the loop of a model at its start.
func NewLoop[C comparable](model Model) *Loop[C] {
	return &Loop[C]{model: model, calls: map[C]bool{}, owed: map[C]bool{}}
}

// Call begins an own call. The request of a subscription is none: the response ends the stream,
// and no caller waits.
func (l *Loop[C]) Call(call C, method string) {
	if method != mcp.MethodListen {
		l.calls[call] = true
	}
}

// End ends an own call, by its answer or by a cancellation. After the last call the inner queue is
// drained.
func (l *Loop[C]) End(call C) {
	delete(l.calls, call)
	if len(l.calls) == 0 {
		l.queued = 0
		l.full = false
	}
}

// Notify takes a notification that was read. During a call nobody drains the inner queue.
func (l *Loop[C]) Notify() {
	switch {
	case l.model.kind != notificationQueue || len(l.calls) == 0:
	case l.queued < l.model.queue:
		l.queued++
	default:
		l.full = true
	}
}

// Ask takes a request that was read; ready says that its answer may be sent at once.
func (l *Loop[C]) Ask(request C, method string, ready bool) {
	if l.model.answersFirst(method, ready) {
		l.owed[request] = true
	}
}

// Answer ends a request of the other end: its answer was taken.
func (l *Loop[C]) Answer(request C) { delete(l.owed, request) }

// Full reports whether the loop holds a notification for which the inner queue has no room.
func (l *Loop[C]) Full() bool { return l.full }

// Reads reports whether the loop reads on.
func (l *Loop[C]) Reads() bool { return !l.full && len(l.owed) == 0 }

// answersFirst reports whether a receive loop answers a request before it reads on; ready says
// that the answer may be sent at once.
func (m Model) answersFirst(method string, ready bool) bool {
	switch m.kind {
	case answersInline:
		return ready
	case blockingHandlers:
		return !m.tools || method != mcp.MethodCallTool
	}
	return false
}
