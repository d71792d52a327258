package why

import (
	"fmt"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/framing"
	"github.com/mcprec/mcprec/transport/mcp"
)

// pipeFrame is the latest frame of a pipe. It may have its place in the log before its newline: a
// later note, or an open line of a live session, then says that the newline is missing.
type pipeFrame struct {
	moment
	asks     []*call // the requests in it
	answers  []*call // the calls that it answered
	joinedTo uint64  // the frame without a newline before it on the same line
	form     *timeline.Misframed
}

// unread is a message that an end which reads lines has not seen: it has no newline, or stands
// behind such a message. The zero unread is none.
type unread struct {
	moment
	joinedTo uint64              // the frame without a newline before it on the same line; 0: none
	form     *timeline.Misframed // it is in another form than a line of JSON
}

// onNote learns that the latest frame of a pipe has no newline.
func (f *Fold) onNote(step timeline.Step) {
	frame, ok := store.EndsWithoutNewline(step.Event)
	last := &f.newest[side(step.Dir)]
	if !ok || last.seq != frame {
		return
	}
	f.joined[side(step.Dir)] = frame
	f.reopen(last)
}

// onPipeFrame begins a frame of a pipe.
func (f *Fold) onPipeFrame(step timeline.Step) {
	dir := side(step.Dir)
	f.newest[dir] = pipeFrame{moment: f.now, joinedTo: f.joined[dir]}
	f.joined[dir] = 0
	if joinedTo := f.newest[dir].joinedTo; joinedTo != 0 && len(transport.TrimBlanks(step.Payload)) == 0 { // "\r", and the newline
		f.see(func(c *call) bool { return c.unended.seq == joinedTo })
	}
}

// onForm notes a frame of a pipe that is no message, and the form of a message that is no line of JSON.
func (f *Fold) onForm(step timeline.Step, heard frame) {
	dir := side(step.Dir)
	f.misframed = step.Misframed
	switch begun := f.parts[dir]; {
	case step.Part && begun.seq == 0:
		f.parts[dir] = heard
	case step.Part:
	case step.Noise:
		f.parts[dir] = frame{}
		f.noise[dir] = heard
	default:
		f.parts[dir] = frame{}
	}
	if f.misframed == nil || step.Stream != 0 || step.Noise {
		return
	}
	if f.misframed.Form == framing.ContentLength {
		f.headed[dir] = true
		if f.headed[c2s] && f.headed[s2c] { // it is what both ends read, and no newline is missing
			f.misframed = nil
			f.goOn()
		}
	}
	f.newest[dir].form = f.misframed
}

// reopen takes back the answers in a frame without a newline, and notes the requests in it.
func (f *Fold) reopen(last *pipeFrame) {
	if f.readsOn {
		return
	}
	for _, c := range last.asks {
		c.unasked = unread{last.moment, last.joinedTo, last.form}
	}
	for _, c := range last.answers {
		if f.hasSeen(c) {
			f.readsOn = true
			return
		}
	}
	for _, c := range last.answers {
		c.unended = unread{last.moment, last.joinedTo, last.form}
		f.unseen++
		if c.Dir == c2s {
			f.waiting++
		}
		f.pending[c.Call] = c
	}
	last.asks = nil
	last.answers = nil
}

// hasSeen reports whether the client goes on as only one does that has read the answer to a call.
func (f *Fold) hasSeen(c *call) bool {
	return c.Dir == c2s && c.Method == mcp.MethodInitialize && f.ready
}

// goOn notes that an end goes on behind answers whose newlines are missing, as only one does that
// reads messages without lines: nobody waits for these newlines, nor for later ones.
func (f *Fold) goOn() {
	f.readsOn = true
	f.see(func(c *call) bool { return c.unended.seq != 0 })
}

// see ends the reopened calls whose answers were seen.
func (f *Fold) see(was func(*call) bool) {
	if f.unseen == 0 {
		return
	}
	for of, c := range f.pending {
		if was(c) {
			delete(f.pending, of)
			f.unseen--
			if c.Dir == c2s {
				f.waiting--
			}
			c.unended = unread{}
		}
	}
}

// asksOn notes that the client makes a call. A client that has only one call open at a time, and
// that has had another answer since one without a newline, has seen that one.
func (f *Fold) asksOn() {
	open := f.waiting
	first := uint64(0)
	if f.unseen > 0 {
		for _, c := range f.pending {
			if c.unended.seq != 0 && c.Dir == c2s {
				open--
				if first == 0 || c.unended.seq < first {
					first = c.unended.seq
				}
			}
		}
	}
	f.isParallel = f.isParallel || open > 0
	if first != 0 && !f.isParallel && f.answered.seq > first {
		f.goOn()
	}
}

// cancelAnswered notes the cancellation of a call whose answer may have no newline.
func (f *Fold) cancelAnswered(step timeline.Step, id mcp.Key) {
	for _, c := range f.newest[side(step.Dir.Reverse())].answers {
		if c.Dir == step.Dir && c.Key() == id {
			c.cancelled = f.now
		}
	}
}

// withoutNewline adds to the calls of a judge what the open lines of a live session tell: calls
// whose answers have no newline so far.
func (j *judge) withoutNewline() {
	for _, l := range j.live.Lines {
		last := j.newest[side(l.Dir)]
		if l.Frame == 0 || last.seq != l.Frame || j.readsOn {
			continue
		}
		at := unread{last.moment, last.joinedTo, last.form}
		for _, c := range last.asks {
			j.openAsks[c] = at
		}
		for _, c := range last.answers {
			j.openAnswers[c] = at
			if !j.hasSeen(c) {
				j.calls[side(c.Dir)] = append(j.calls[side(c.Dir)], c)
			}
		}
	}
}

// answerLacksNewline returns the answer to a call that has no newline.
func (j *judge) answerLacksNewline(c *call) unread {
	if c.unended.seq != 0 {
		return c.unended
	}
	return j.openAnswers[c]
}

// requestLacksNewline returns the request of a call that has no newline, unless the other end works on it.
func (j *judge) requestLacksNewline(c *call) unread {
	switch {
	case c.progress.seq != 0:
		return unread{}
	case c.unasked.seq != 0:
		return c.unasked
	}
	return j.openAsks[c]
}

// lacking is a message that its receiver has not seen.
type lacking struct {
	unread
	dir  transport.Direction
	what string
}

// lacks returns the message that the wait needs and whose newline is missing: the answer, the
// request, or those of the request that the server waits for. Its seq is 0 if there is none.
func (j *judge) lacks(w *wait) lacking {
	for _, c := range []*call{w.call, w.asks} {
		if c == nil {
			continue
		}
		if answer := j.answerLacksNewline(c); answer.seq != 0 {
			return lacking{answer, c.Dir.Reverse(), "answer to " + labelOf(c.Call)}
		}
		if request := j.requestLacksNewline(c); request.seq != 0 {
			return lacking{request, c.Dir, "request " + labelOf(c.Call)}
		}
	}
	return lacking{}
}

// setNoNewline sets the shape and the culprit of a wait for a newline, and reports whether it is one.
func (j *judge) setNoNewline(w *wait) bool {
	lacks := j.lacks(w)
	if lacks.seq == 0 {
		return false
	}
	w.shape = NoNewline
	if lacks.form != nil {
		w.shape = OtherFraming
	}
	w.culprit = lacks.dir.Sender()
	return true
}

// sayNoNewline says which message lacks its newline.
func (w *words) sayNoNewline() {
	w.proves = "that the newline did not come"
	if l := w.first.line; l != nil {
		w.say("The %s %s the whole message, and no newline behind it: a %s that reads lines does not see it.",
			l.Dir.Sender(), w.tense("has written", "had written"), l.Dir.Receiver())
		w.show(moment{0, l.At}, "a whole message without its newline: %s", w.text(l.Text))
		return
	}
	lacks := w.lacks(w.first)
	w.sayLacking(lacks)
	if lacks.form != nil {
		w.proves = "in which form the message left the " + lacks.dir.Sender()
		w.unknown = fmt.Sprintf("whether the %s can read this form", lacks.dir.Receiver())
		return
	}
	w.unknown = fmt.Sprintf("whether the %s needs the newline, as one does that reads lines", lacks.dir.Receiver())
}

// sayLacking says that a message has no newline.
func (w *words) sayLacking(lacks lacking) {
	if lacks.form != nil {
		at := fmt.Sprintf("#%d", lacks.form.From)
		if lacks.form.From != lacks.seq {
			at += fmt.Sprintf(" to #%d", lacks.seq)
		}
		w.say("The %s wrote its %s %s (%s): %s.", lacks.dir.Sender(), lacks.what, lacks.form.Says(), at, lacks.form.Wants())
		w.say("A %s that reads lines sees no message there.", lacks.dir.Receiver())
		w.show(lacks.moment, "the %s's %s, %s", lacks.dir.Sender(), lacks.what, lacks.form.Says())
		return
	}
	seen := lacks.dir.Receiver() + " " + w.tense("has", "had") + " not seen"
	if lacks.joinedTo != 0 {
		w.say("The %s's %s (#%d) stands on one line with #%d, which has no newline, so the %s it.", lacks.dir.Sender(), lacks.what, lacks.seq, lacks.joinedTo, seen)
		w.show(moment{seq: lacks.joinedTo}, "a message without its newline")
		w.show(lacks.moment, "the %s's %s, on the same line", lacks.dir.Sender(), lacks.what)
		return
	}
	w.say("The %s's %s (#%d) has no newline, so the %s its end.", lacks.dir.Sender(), lacks.what, lacks.seq, seen)
	w.show(lacks.moment, "the %s's %s, without its newline", lacks.dir.Sender(), lacks.what)
}
