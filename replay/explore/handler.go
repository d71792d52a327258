package explore

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

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
	lines := strings.Split(strings.TrimSpace(stack), "\n")
	for i := 1; i+1 < len(lines) && !strings.HasPrefix(lines[i], "created by "); i += 2 {
		function := frameArgs().ReplaceAllString(lines[i], "")
		file, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
		if hidden(function) || ours(function) || standard(function, file) {
			continue
		}
		switch fetched := dependency(file); {
		case fetched && strings.HasPrefix(function, "github.com/mcprec/mcprec/"):
			return h, false
		case fetched && h.line == "": // of the library that the caller's code called, if it did
		case fetched:
			h.place, h.by = readPlace(stack), filepath.Base(function)
			h.goroutine, _, _ = strings.Cut(strings.TrimPrefix(lines[0], "goroutine "), " ")
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
