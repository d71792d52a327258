package why

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// onTask notes that a message is about a task. by is a call of the end that waits for the task, or nil.
func (f *Fold) onTask(t *timeline.Task, by *call) {
	switch {
	case t == nil:
		return
	case t.Over:
		delete(f.tasks, t)
		return
	case f.tasks == nil:
		f.tasks = map[*timeline.Task]*call{}
	}
	f.tasks[t] = cmp.Or(f.tasks[t], by)
	f.repeats.onPoll(t)
}

// notPolled is how many of its intervals a task goes without a poll at least to be one that nobody polls.
const notPolled = 3

// taskWaits lists the tasks that wait for an input or for a poll, and adds to the report those that work.
func (j *judge) taskWaits(r *Report) (waits []*wait) {
	tasks := slices.SortedFunc(maps.Keys(j.tasks), func(a, b *timeline.Task) int { return cmp.Compare(a.Made.Seq, b.Made.Seq) })
	isAskedFor := map[*timeline.Task]bool{} // a call about it has no answer
	for dir, calls := range j.calls {
		for _, c := range calls {
			if c.Task != nil && c.Method != mcp.MethodUpdateTask && dir == side(c.Task.Dir.Reverse()) {
				isAskedFor[c.Task] = true
			}
		}
	}
	for _, t := range tasks {
		if j.flag.Raised() {
			return nil
		}
		w := &wait{task: t, culprit: t.Dir.Receiver(), since: momentOf(t.Since), until: j.endOfSession()}
		switch {
		case t.Cancelled.Seq != 0 || isAskedFor[t]: // its call tells
		case t.Status == mcp.InputRequired:
			waits = append(waits, j.inputOfTask(r, w)...)
		case j.isForgotten(w):
			w.shape = TaskNotPolled
			waits = append(waits, w)
		case w.until.at-t.Made.At >= j.after:
			r.Open = append(r.Open, j.taskWorks(w))
		}
	}
	return waits
}

// isForgotten reports whether nobody polls a task, though its end said how often.
func (j *judge) isForgotten(w *wait) bool {
	t := w.task
	last := t.Told
	if t.Polled.Seq > last.Seq {
		last = t.Polled
	}
	isListening := t.Listener != nil && j.pending[t.Listener] != nil
	if t.Interval == 0 || isListening || w.until.at-last.At < max(j.after, notPolled*t.Interval) {
		return false
	}
	w.since = momentOf(last)
	return true
}

// inputOfTask judges a task that asks for input: over a poll (2026-07-28), or on the stream of tasks/result.
func (j *judge) inputOfTask(r *Report, w *wait) []*wait {
	t := w.task
	w.shape = InputMissing
	by := j.tasks[t]
	isPerson := slices.Contains(t.Wanted, mcp.MethodElicit) && by != nil && j.declares(by, "elicitation")
	switch {
	case isPerson:
		text := fmt.Sprintf("a person is asked for input (%s) by %s, since %v", listOf(t.Wanted), nameOf(t), phrase.Brief(w.length()))
		if t.Polls > 0 {
			text += fmt.Sprintf("; the %s asked for the task %s, last #%d, and sent no %s since", t.Dir.Receiver(), times(t.Polls), t.Polled.Seq, mcp.MethodUpdateTask)
		}
		r.Open = append(r.Open, j.openTask(w, AsksPerson, text))
	case w.length() < j.after:
	case t.Supplied.Seq != 0 && t.Supplied.Seq == t.Since.Seq:
		text := fmt.Sprintf("%s still asks for input (%s), %v after the %s supplied some (#%d)", nameOf(t), listOf(t.Wanted), phrase.Brief(w.length()), t.Dir.Receiver(), t.Supplied.Seq)
		r.Open = append(r.Open, j.openTask(w, Works, text))
	case t.Wanted == nil && len(j.calls[side(t.Dir)]) > 0: // the question has come as a request
	default:
		return []*wait{w}
	}
	return nil
}

// taskWorks says that a task goes on.
func (j *judge) taskWorks(w *wait) Open {
	t := w.task
	text := fmt.Sprintf("%s has been %s for %v", nameOf(t), clip(t.Status), phrase.Brief(w.until.at-t.Made.At))
	why := Works
	if w.until.seq != 0 {
		text = fmt.Sprintf("%s was %s when %s (#%d), after %v", nameOf(t), clip(t.Status), w.until.text, w.until.seq, phrase.Brief(w.until.at-t.Made.At))
		why = Left
	}
	if t.Polls > 0 {
		ago := "ago"
		if w.until.seq != 0 {
			ago = "before"
		}
		text += fmt.Sprintf("; the %s asked %s, last %v %s (#%d)", t.Dir.Receiver(), times(t.Polls), phrase.Brief(w.until.at-t.Polled.At), ago, t.Polled.Seq)
		if still := t.Told.At - t.Changed.At; still >= j.after {
			text += fmt.Sprintf(", and heard for %v that nothing has changed", phrase.Brief(still))
		}
	}
	return j.openTask(w, why, text)
}

// openTask is a task that is not stuck.
func (j *judge) openTask(w *wait, why, text string) Open {
	open := Open{Why: why, Waited: w.length(), Until: w.until.seq, Text: text, Of: w.task.Maker}
	if open.Of != nil {
		open.Call = open.Of.Request
	}
	return open
}

// nameOf names a task by the call that it does.
func nameOf(t *timeline.Task) string {
	if t.Maker == nil {
		return "the task " + quote(t.ID)
	}
	return fmt.Sprintf("the task %s of %s (#%d)", quote(t.ID), labelOf(t.Maker), t.Maker.Request)
}

// wantedBy lists what a task asks for; one of 2025-11-25 does not say it.
func wantedBy(t *timeline.Task) string {
	if len(t.Wanted) == 0 {
		return ""
	}
	return ": " + listOf(t.Wanted)
}

// labelOf names a call by its method and target.
func labelOf(c *timeline.Call) string {
	if c.Target == "" {
		return clip(c.Method)
	}
	return clip(c.Method) + " " + quote(c.Target)
}

// times counts how often something happened.
func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// leadTask says what a task waits for.
func (w *words) leadTask() {
	t := w.first.task
	waited := phrase.Brief(w.first.length())
	caller, end := t.Dir.Receiver(), t.Dir.Sender()
	if w.first.shape == TaskNotPolled {
		w.say("%s is not over, and the %s %s for it for %v.", upper(nameOf(t)), caller, w.tense("has not asked", "did not ask"), waited)
	} else {
		w.say("The %s %s %v for the %s to supply the input that %s asks for%s (#%d).", end, w.tense("has waited", "waited"), waited, caller, nameOf(t), wantedBy(t), t.Since.Seq)
	}
	if t.Maker != nil {
		w.show(moment{seq: t.Maker.Request}, "request %s id %s", labelOf(t.Maker), clip(t.Maker.ID))
	}
}

// causeOfTask says what the end that waits for a task has done and has not.
func (w *words) causeOfTask() {
	t := w.first.task
	caller, end := t.Dir.Receiver(), t.Dir.Sender()
	if w.first.shape == TaskNotPolled {
		w.say("The %s said last that it is %s, %s (#%d), and asked for a poll each %v.", end, clip(t.Status), w.ago(t.Told.At), t.Told.Seq, t.Interval)
		w.show(moment{seq: t.Told.Seq}, "the task is %s", clip(t.Status))
		w.lastOf(t.Dir.Reverse())
		w.proves = "that the task was not over and that nobody asked for it"
		w.unknown = "whether the " + caller + " still wants the result"
		return
	}
	w.show(moment{seq: t.Since.Seq}, "the task is input_required%s", wantedBy(t))
	needs := mcp.MethodUpdateTask
	if mcp.Tasks.Has(w.revision) {
		needs = mcp.MethodTaskResult
	}
	text := fmt.Sprintf("The %s has not sent %s since", caller, needs)
	if t.Polls > 0 {
		text += fmt.Sprintf(", and %s for the task %s, last %s (#%d)", w.tense("has asked", "asked"), times(t.Polls), w.ago(t.Polled.At), t.Polled.Seq)
		w.show(moment{seq: t.Polled.Seq}, "the latest poll")
	}
	w.say("%s.", text)
	w.proves = "that the task asked for input and that no " + needs + " came"
}
