package explore

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// spot is a function and the line in it where a goroutine stands or has called
// the next function. A stack is told by its spots outside of this project, the
// outermost first.
type spot struct {
	function, line string
	fetched        bool // it is a library's
}

func spotsOf(stack string) []spot {
	lines := strings.Split(strings.TrimSpace(stack), "\n")
	var list []spot
	for i := 1; i+1 < len(lines) && !strings.HasPrefix(lines[i], "created by "); i += 2 {
		function := frameArgs().ReplaceAllString(lines[i], "")
		file, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
		if !hidden(function) && !ours(function) && !standard(function, file) {
			list = append(list, spot{function, filepath.Base(file), dependency(file)})
		}
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
