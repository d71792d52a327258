package replay

import (
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// OneByOne makes each request wait for the answers to the earlier ones: a live
// server then has one call at a time, and takes the calls in the recorded order
// whatever its own pace is. Call it before Start.
//
// The recorded overlap stays where the recording shows a reason for it: behind a
// call that was cancelled, was never answered or only after the later one, and
// around a subscription, which is open all the time. Where the answer waits for the
// later call in a way that the recording does not show, Relent brings the overlap
// back.
func (d *Driver) OneByOne() {
	var open []*request
	for _, l := range d.lines {
		open = slices.DeleteFunc(open, func(r *request) bool { return r.response.index < l.before })
		for _, r := range open {
			if l.follows(r) {
				l.queue = append(l.queue, r.response)
			}
		}
		for _, r := range l.requests {
			if r.isAwaited() {
				open = append(open, r)
			}
		}
	}
}

// follows reports whether the line has requests, and all of them were answered
// after r was.
func (l *line) follows(r *request) bool {
	for _, own := range l.requests {
		if own.msg().Method == methodListen || own.msg().Method == methodPing || own.response == nil || own.response.index < r.response.index {
			return false
		}
	}
	return len(l.requests) > 0
}

// isQueued reports whether the line waits for the answer to an earlier call.
func (l *line) isQueued() bool {
	return slices.ContainsFunc(l.queue, func(t *turn) bool { return !t.isSettled() })
}

// overlap lets the line go as it was recorded, beside the calls it is queued
// behind, and says so.
func (d *Driver) overlap(l *line) []transport.Frame {
	for _, t := range l.queue {
		if !t.isSettled() {
			d.without = append(d.without, fmt.Sprintf("#%d (%s; #%d was sent beside that call, as recorded)", t.seq, t.what(), l.seq))
		}
	}
	l.queue = nil
	return d.release()
}

// queues reports whether what is held back waits for nothing but the answer to an
// earlier call, which a busy server may well be about to give.
func (d *Driver) queues() bool {
	l := d.held()
	return l != nil && l.question == nil && l.before <= d.settled && l.isQueued()
}

// lastQueued is the index of the last turn that the line is queued behind; -1: none.
func (l *line) lastQueued() int {
	last := -1
	for _, t := range l.queue {
		last = max(last, t.index)
	}
	return last
}
