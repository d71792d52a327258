package explore

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

// chain follows who waits for whom, from an operation to the end that nobody
// holds up, or round to a part that it has passed. A link is there only where the
// frames show it.
type chain struct {
	gate   *gate
	parts  []any // passed: *Operation, *call, *lane (its reader)
	links  []string
	cyclic bool
	nested bool   // an end asked within what it was asked
	stuck  bool   // a reader that has not come back is on the way
	ends   string // what becomes of the request at the end of the chain, if it is seen
}

// chainOf follows an operation.
func (g *gate) chainOf(op *Operation) *chain {
	k := &chain{gate: g}
	if op.heldBy() != nil {
		return k
	}
	if c := g.openCall(op); c != nil && c.request.taken > 0 && (c.answer == nil || c.answer.given == 0) {
		k.link(op, "operation "+op.name+" waits for the response to "+c.name)
		k.call(c)
		return k
	}
	for i := range g.lanes {
		for _, f := range g.lanes[i].waiting {
			if g.wrote(op, f) {
				k.link(op, "operation "+op.name+" is at the Write of "+f.name)
				k.reader(&g.lanes[i])
				return k
			}
		}
	}
	return k
}

// openCall is the first request of an operation whose response has not been read;
// else its last request.
func (g *gate) openCall(op *Operation) *call {
	calls, _ := g.callsOf(op)
	for _, c := range calls {
		if c.answer == nil || c.answer.given == 0 {
			return c
		}
	}
	if len(calls) == 0 {
		return nil
	}
	return calls[len(calls)-1]
}

// link adds a part, and reports false when the chain has passed it already.
func (k *chain) link(part any, text string) bool {
	if slices.Contains(k.parts, part) {
		k.cyclic = true
		return false
	}
	k.parts = append(k.parts, part)
	k.links = append(k.links, text)
	return true
}

// call follows an open request.
func (k *chain) call(c *call) {
	f := c.request
	if c.answer != nil {
		f = c.answer
	}
	l := k.gate.lane(f.dir)
	if f.given == 0 {
		if k.link(c, fmt.Sprintf("%s is %s", f.name, l.place(f))) {
			k.reader(l)
		}
		return
	}
	owes := "the " + f.dir.Receiver() + " owes the response to " + c.name
	back := k.gate.lane(f.dir.Reverse())
	switch inner, write := k.gate.askedSince(back, f.given), k.gate.offeredSince(back, f.given); {
	case l.deafened:
		k.link(c, owes+", and has closed")
	case len(l.readers) == 0 && l.last == f:
		if k.link(c, owes+": its reader has not come back from it") {
			k.reader(l)
		}
	case inner != nil:
		k.nested = true
		if k.link(c, owes+", and has asked "+inner.name+" since") {
			k.call(inner)
		}
	case write != nil:
		if k.link(c, owes+", and is at the Write of "+write.name) {
			k.reader(back)
		}
	default:
		k.debt(c, owes, back.dir)
	}
}

// debt ends a chain at a response that an end owes. Where that end waits for a
// call of its own on the way here, that is what holds it.
func (k *chain) debt(c *call, owes string, dir transport.Direction) {
	for _, part := range k.parts {
		if own, ok := part.(*call); ok && own.request.dir == dir && own.answer == nil && k.gate.within(own) {
			k.link(c, owes+", and waits for the response to "+own.name)
			k.cyclic = true
			return
		}
	}
	worker := placeOf(k.gate.all, k.gate.worker(c))
	reader := "the " + dir.Sender() + "'s reader"
	switch {
	case slices.Contains(k.parts, any(k.gate.lane(dir))):
		k.link(c, owes+", which only the "+dir.Receiver()+"'s reader can read")
		k.cyclic = true
	case worker.at != "":
		k.link(c, owes+": the goroutine that took it up stands at "+worker.String())
		k.ends = fmt.Sprintf("and the goroutine that took it up stands at %v", worker)
	case k.nested && len(k.gate.lane(dir.Reverse()).readers) > 0:
		k.link(c, owes+": "+reader+" is back at its Read, and nobody answers")
		k.ends = "and is back at its Read: it does not answer"
	default:
		k.link(c, owes+", and nothing is on its way")
	}
}

// reader follows a reader that has not come back.
func (k *chain) reader(l *lane) {
	who := "the " + l.dir.Receiver() + "'s reader"
	if l.last == nil {
		k.link(l, who+" has never read")
		return
	}
	if len(l.readers) > 0 {
		return // it waits: something else holds the frame up
	}
	k.stuck = true
	if l.quit {
		k.link(l, fmt.Sprintf("the goroutine that read %s for the %s has ended", l.last.name, l.dir.Receiver()))
		return
	}
	holds := who + " holds " + l.last.name
	back := k.gate.lane(l.dir.Reverse())
	switch inner, write := k.gate.askedSince(back, l.last.given), k.gate.offeredSince(back, l.last.given); {
	case inner != nil:
		if k.link(l, holds+", and has asked "+inner.name+" since") {
			k.call(inner)
		}
	case write != nil:
		if k.link(l, holds+", and is at the Write of "+write.name) {
			k.reader(back)
		}
	case l.idle != "":
		k.link(l, holds+": it "+l.idle)
	case k.self(l) != nil:
		k.link(l, holds+": it is operation "+k.self(l).name)
		k.cyclic = true
	default:
		k.link(l, holds)
	}
}

// self returns the operation on the way here that is the reader itself.
func (k *chain) self(l *lane) *Operation {
	for _, part := range k.parts {
		if op, ok := part.(*Operation); ok && !k.gate.blind && len(l.holder) > 0 && l.holder[0] == op.where {
			return op
		}
	}
	return nil
}

// askedSince is the first open request in the lane that no waiting operation sent,
// and that was written after a step.
func (g *gate) askedSince(l *lane, step int) *call {
	for _, c := range g.names.calls {
		if f := c.request; f.dir == l.dir && !g.awaited[f.op] && f.taken > 0 && f.round >= step &&
			!c.cancelled && !c.listen && (c.answer == nil || c.answer.given == 0) {
			return c
		}
	}
	return nil
}

// offeredSince is the first frame in its writer's hand that no waiting operation
// sent, and that was written after a step.
func (g *gate) offeredSince(l *lane, step int) *flight {
	for _, f := range l.waiting {
		if !g.awaited[f.op] && f.round >= step {
			return f
		}
	}
	return nil
}

// mutual reports whether the chain goes round by open calls alone, one asked
// within another.
func (k *chain) mutual() bool { return k.cyclic && k.nested && !k.stuck }

// mutualWhy tells the call within the call.
func (k *chain) mutualWhy() string {
	calls := k.calls()
	outer, inner := calls[len(calls)-2], calls[len(calls)-1]
	return fmt.Sprintf("each end has read a request of the other and answers neither: the %s read %s at step %d and has asked %s since, which the %s read at step %d",
		outer.request.dir.Receiver(), outer.name, outer.request.given, inner.name, inner.request.dir.Receiver(), inner.request.given)
}

// neglectWhy tells a call within a call that is read and not answered; "" if the
// chain does not end with one.
func (k *chain) neglectWhy() string {
	calls := k.calls()
	if k.ends == "" || k.cyclic || k.stuck {
		return ""
	}
	inner := calls[len(calls)-1]
	why := fmt.Sprintf("the %s read %s at step %d, %s", inner.request.dir.Receiver(), inner.name, inner.request.given, k.ends)
	if len(calls) > 1 {
		outer := calls[len(calls)-2]
		why += fmt.Sprintf(". The %s asked it after it had read %s, at step %d", outer.request.dir.Receiver(), outer.name, outer.request.given)
	}
	return why
}

// better prefers a chain that goes round, then the longer one.
func better(a, b *chain) *chain {
	switch {
	case a == nil, !a.cyclic && b.cyclic, a.cyclic == b.cyclic && len(b.links) > len(a.links):
		return b
	}
	return a
}

// calls are the chain's, in order.
func (k *chain) calls() (list []*call) {
	for _, part := range k.parts {
		if c, ok := part.(*call); ok && !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

// spot is a function and the line in it where a goroutine stands or has called
// the next function. A stack is told by its spots outside of this project, the
// outermost first.
type spot struct {
	function, line string
	fetched        bool // it is a library's
}

func spotsOf(stack string) []spot {
	var list []spot
	for function, file := range peerFrames(stack) {
		list = append(list, spot{function, filepath.Base(file), dependency(file)})
	}
	slices.Reverse(list)
	return list
}

// stance is where those stood who had to do with a call when the frame was given
// that ends it for them, of a traced gate.
type stance struct {
	writer, seat []spot // of who wrote the request, and of the operation
	writing      bool   // the request's Write had not returned
}

// stanceAt looks at the goroutines that have to do with a call.
func stanceAt(all []string, c *call, op *Operation) *stance {
	s := &stance{}
	if len(c.request.writers) > 0 {
		stack := stackOf(all, c.request.writers[0])
		s.writer, s.writing = spotsOf(stack), strings.Contains(stack, "/explore.(*end).Write(")
	}
	if op != nil {
		s.seat = spotsOf(stackOf(all, op.where))
	}
	return s
}

// stackOf finds the stack of a goroutine; "" when it has ended.
func stackOf(all []string, goroutine string) string {
	head := "goroutine " + goroutine + " ["
	for _, s := range all {
		if goroutine != "" && strings.HasPrefix(s, head) {
			return s
		}
	}
	return ""
}

// idle reports whether a goroutine waits for the next frame.
func idle(stack string) bool { return strings.Contains(stack, "/explore.(*end).Read(") }

// wentOn reports whether an operation has gone on since the response to its call
// was read. Stacks show it: who waited for the response stands elsewhere.
func (g *gate) wentOn(op *Operation, c *call) bool {
	then := c.then
	if then == nil || len(g.all) == 0 {
		return false
	}
	now := stanceAt(g.all, c, op)
	own := c.request.writers[0] == op.where
	switch wrote := c.request.wrote; {
	case then.writing && (own || len(now.writer) > 0):
		return len(wrote) > 1 && (!sameCall(wrote, now.writer) || leftLibrary(wrote, now.writer))
	case own || sameCall(wrote, then.writer): // who wrote the request waited for the response
		return !slices.Equal(then.writer, now.writer)
	}
	return !slices.Equal(then.seat, now.seat)
}

// sameCall reports whether two looks at a goroutine show it in the same call of its
// outermost function.
func sameCall(a, b []spot) bool { return len(a) > 0 && len(b) > 0 && a[0] == b[0] }

// leftLibrary reports whether who stood in a call of a library stands in another one:
// the caller's own lines up to there are not the same.
func leftLibrary(then, now []spot) bool {
	n := slices.IndexFunc(then, func(s spot) bool { return s.fetched })
	return n > 0 && (len(now) < n || !slices.Equal(then[:n], now[:n]))
}

// answered is for an operation whose responses were all read: one did not reach
// it, or it has gone on and waits for something else.
func (g *gate) answered(op *Operation, calls []*call, at place) (category string, waits []Wait, why string, sure bool) {
	who, c := "operation "+op.name, calls[len(calls)-1]
	read := func(c *call) string {
		return fmt.Sprintf("the %s read the response to %s at step %d", c.answer.dir.Receiver(), c.name, c.answer.given)
	}
	for _, c := range slices.Backward(calls) {
		if c.then != nil && !g.wentOn(op, c) {
			return LostAnswer, []Wait{{Who: who, WaitsFor: "response to " + c.name, BlockedAt: at.String(),
				Why: fmt.Sprintf("the %s read it at step %d; it did not reach the operation", c.answer.dir.Receiver(), c.answer.given)}}, read(c) + ", but " + who + " did not get it", true
		}
	}
	if c.then == nil {
		return LostAnswer, []Wait{{Who: who, Why: read(c)}}, read(c) + ", and " + who + " has not returned", true
	}
	category, w, _ := g.unsigned(who, at)
	w.Why = fmt.Sprintf("the response to its last request, %s, was read at step %d, and it went on", c.name, c.answer.given)
	if category == LostAnswer {
		w.Why += "; read and answered by nobody: " + strings.Join(g.unanswered(), ", ")
	}
	why = fmt.Sprintf("%s waits for something else; the response to its last request, %s, was read at step %d", who, c.name, c.answer.given)
	if at.at != "" {
		why = fmt.Sprintf("%s stands at %v; the response to its last request, %s, was read at step %d", who, at, c.name, c.answer.given)
	}
	return category, []Wait{w}, why, true
}

// within reports whether what an end handles is seen to wait for the response to a
// call of that end: who wrote the call is no operation, and still stands there.
// Where frames alone are judged it may be so.
func (g *gate) within(c *call) bool {
	if g.blind {
		return true
	}
	if len(c.request.writers) == 0 || g.awaited[c.request.op] || slices.Contains(g.seats, c.request.writers[0]) {
		return false
	}
	stack := stackOf(g.all, c.request.writers[0])
	return stack != "" && !idle(stack) && !strings.Contains(stack, "/explore.(*end).Write(")
}

// gone reports whether the goroutine that has the last frame has ended, in an end
// that does not read every frame on a goroutine of its own.
func (l *lane) gone(all []string) bool {
	if len(all) == 0 || len(l.holder) == 0 || stackOf(all, l.holder[0]) != "" {
		return false
	}
	return len(l.before) < 2 || len(l.holder) < 2 || l.before[0] == l.holder[0] || l.before[1] != l.holder[1]
}

// handler is a function of the caller's own that a library has called and that has
// not returned: it is blocked in code that the library knows nothing of, or in a call of
// the library that it makes itself.
type handler struct {
	goroutine string
	place     place
	line      string  // where it is blocked, or calls what it is blocked in: file:line
	by        string  // the library's function that called it
	frame     *flight // that it was called for, where that was seen
}

// handlerOf finds in a stack that a library's function called the caller's code, which
// waits, itself or in a call of the library.
func handlerOf(stack string) (h handler, ok bool) {
	if recordedStack(stack) || idle(stack) {
		return h, false
	}
	for function, file := range peerFrames(stack) {
		switch fetched := dependency(file); {
		case fetched && strings.HasPrefix(function, "github.com/mcprec/mcprec/"):
			return h, false
		case fetched && h.line == "": // of the library that the caller's code called, if it did
		case fetched:
			h.place, h.by, h.goroutine = readPlace(stack), filepath.Base(function), goroutineOf(stack)
			return h, h.place.state != "running" && h.place.state != "runnable"
		case h.line == "":
			h.line = filepath.Base(file)
		}
	}
	return h, false
}

// handlersIn finds those that stand in the run, of a snapshot of its engine. What an
// operation does itself is none.
func (r *Run) handlersIn(all []string) (list []handler) {
	for _, s := range r.engine.own(all) {
		h, ok := handlerOf(s)
		if ok && !slices.ContainsFunc(r.ops, func(op *Operation) bool { return op.where == h.goroutine }) {
			list = append(list, h)
		}
	}
	return list
}

// called notes for which frame handlers were called that have not returned. It is
// asked after the step of a traced run that gave a frame, before anything else can
// move: who was not there before, and is now, was called for it.
func (r *Run) called() {
	f := r.handed
	if r.handed = nil; f == nil {
		return
	}
	still := map[string]*flight{}
	for _, h := range r.handlersIn(snapshot()) {
		still[h.goroutine] = f
		if was, known := r.handlers[h.goroutine]; known {
			still[h.goroutine] = was
		}
	}
	r.handlers = still
}

// blocked are the handlers of frames that have not returned at a hang.
func (r *Run) blocked() []handler {
	if len(r.gate.all) == 0 {
		return nil
	}
	list := r.handlersIn(r.gate.all)
	for i := range list {
		list[i].frame = r.handlers[list[i].goroutine]
	}
	list = slices.DeleteFunc(list, func(h handler) bool { return h.frame == nil })
	slices.SortFunc(list, func(a, b handler) int { return a.frame.given - b.frame.given })
	return list[:min(len(list), shownHandlers)]
}

// shownHandlers is how many handlers a report names.
const shownHandlers = 3

// who names the handler by its frame.
func (h handler) who() string {
	for _, m := range h.frame.said.Messages {
		if m.Kind() == transport.Notification {
			return "the handler of " + clip(m.Method)
		}
	}
	return "the handler of " + h.frame.name
}

// blame puts before the reason of a hang whose code is blocked. Where all that the
// operations asked for was read, and a handler of a notification does not return, that
// is the hang's category: nothing else is to be sent.
func (r *Run) blame(category, why string) (string, string) {
	if category != NeverSent && category != LostAnswer {
		return category, why
	}
	var said []string
	for _, h := range r.blocked() {
		if strings.Contains(why, h.place.String()) {
			continue
		}
		if h.place.entry != "" {
			said = append(said, fmt.Sprintf("%s stands in %s, called at %s", h.who(), h.place.entry, h.line))
		} else {
			said = append(said, fmt.Sprintf("blocked in your code: %s (%s), under %s", h.line, h.place.state, h.who()))
		}
		r.waits = append(r.waits, Wait{Who: h.who(), BlockedAt: h.place.String(),
			Why: fmt.Sprintf("called by %s for what was given at step %d; has not returned", h.by, h.frame.given)})
		if category == NeverSent && !h.frame.asks() && r.gate.quiet() {
			category = BlockedHandler
		}
	}
	return category, strings.Join(append(said, why), "; ")
}

// quiet reports whether nothing is on its way and every request was answered.
func (g *gate) quiet() bool {
	for i := range g.lanes {
		if l := &g.lanes[i]; len(l.waiting)+len(l.queue) > 0 {
			return false
		}
	}
	return !slices.ContainsFunc(g.names.calls, func(c *call) bool {
		return !c.cancelled && !c.listen && (c.answer == nil || c.answer.given == 0)
	})
}
