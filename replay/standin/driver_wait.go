package standin

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport"
)

// Waiting reports whether Relent would let the session go on: to a client frame, or to
// where the client hangs up.
func (d *Driver) Waiting() bool { return d.held() != nil || len(d.unheard()) > 0 }

// held returns the first client frame that waits for nothing but what may never come.
func (d *Driver) held() *clientFrame {
	if d.ended || d.loose {
		return nil
	}
	for _, l := range d.due {
		if !l.sent {
			return l
		}
	}
	l := d.nextClientFrame()
	if l == nil {
		return nil
	}
	for _, t := range d.serverMsgs[d.settled:max(d.settled, l.before)] {
		if !t.isSettled() && !t.optional {
			return nil
		}
	}
	return l
}

// Relent gives up waiting, for the first client frame or hang-up that is held back by what
// the live server may never say, and returns what can be sent then. A response is always
// waited for, unless its request was cancelled.
func (d *Driver) Relent() []transport.Frame {
	if turns := d.unheard(); len(turns) > 0 {
		for _, t := range turns {
			d.giveUpOn(t)
		}
		return d.release()
	}
	l := d.held()
	if l == nil {
		return nil
	}
	if l.question == nil && l.before <= d.settled {
		for _, t := range l.queue { // it goes as recorded, beside the calls it is queued behind
			if !t.isSettled() {
				d.without = append(d.without, fmt.Sprintf("#%d (%s; #%d was sent beside that call, as recorded)", t.seq, t.what(), l.seq))
			}
		}
		l.queue = nil
		return d.release()
	}
	l.unheld = true
	from := d.settled
	if l.question != nil {
		from = l.question.index
	}
	for _, t := range d.serverMsgs[min(from, l.before):l.before] {
		switch {
		case t.isSettled():
		case l.question == nil:
			d.giveUpOn(t)
		default:
			d.noteWithout(t)
		}
	}
	d.settle()
	return d.release()
}

// giveUpOn waits for the server message no more.
func (d *Driver) giveUpOn(t *serverMsg) {
	d.noteWithout(t)
	t.skipped, t.timedOut = true, true
	if !t.afterEnd {
		d.missing--
	}
}

func (d *Driver) noteWithout(t *serverMsg) {
	d.without = append(d.without, fmt.Sprintf("#%d (%s)", t.seq, t.what()))
}

// Without says what Relent went on without: #3 (notifications/progress).
func (d *Driver) Without() []string { return slices.Clone(d.without) }

// defaultPatience is how long a live end must be silent before a shell gives up waiting
// for what the recorded one said next. It runs only while something is held back,
// and costs nothing where the live end does as the recorded one did.
const defaultPatience = 500 * time.Millisecond

// queuePatience is the patience with a serialized call that waits for the answer to an
// earlier one. A call may take its time; what is lost by being wrong is a moment,
// or that two calls meet as they did before.
const queuePatience = 4 * defaultPatience

// patience returns how long to wait, in silence, for what may never come: longer
// where the recorded server took its time. What came by a timer then comes by one
// now.
func (d *Driver) patience() time.Duration {
	l := d.held()
	switch turns := d.unheard(); {
	case len(turns) > 0:
		return defaultPatience + 2*d.took(turns[0].index, 1+turns[len(turns)-1].index)
	case l == nil:
		return defaultPatience + 2*d.took(0, len(d.serverMsgs))
	case l.question == nil && l.before <= d.settled && l.isQueued(): // a busy server may be about to answer
		return queuePatience + 2*d.took(d.settled, 1+l.lastQueued())
	}
	return defaultPatience + 2*d.took(d.settled, l.before)
}

// took is the longest time that the recorded server was silent before one of the
// server messages between two that have not come.
func (d *Driver) took(from, to int) (longest time.Duration) {
	for _, t := range d.serverMsgs[min(from, to):to] {
		if !t.arrived && !t.timedOut && !t.afterEnd {
			longest = max(longest, t.gap)
		}
	}
	return longest
}

// HangUps returns the exchanges on which the client is to hang up now: what it had
// said and heard before is said and heard. Each is returned once.
func (d *Driver) HangUps() (exchanges []uint64) {
	d.hangUps = slices.DeleteFunc(d.hangUps, func(h hangUp) bool {
		due := d.isReached(h) && !slices.ContainsFunc(h.on, (*serverMsg).mayCome)
		if due {
			exchanges = append(exchanges, h.exchange)
		}
		return due
	})
	return exchanges
}

// isReached reports whether the session has come to the place of the hang-up.
func (d *Driver) isReached(h hangUp) bool {
	return d.settled >= h.serverMsgs && !slices.ContainsFunc(d.clientFrames[:h.clientFrames], func(l *clientFrame) bool { return !l.sent })
}

// mayCome reports whether the client waits for the server message before it hangs up. The
// message may have been skipped: two HTTP streams have no order, and a message on the other
// stream does not show that nothing more comes on this one.
func (t *serverMsg) mayCome() bool { return !t.arrived && !t.timedOut }

// unheard returns what may still come on the exchanges on which the client hangs up next.
func (d *Driver) unheard() (turns []*serverMsg) {
	if !d.hangsUp || d.ended {
		return nil
	}
	for _, h := range d.hangUps {
		if !d.isReached(h) {
			continue
		}
		for _, t := range h.on {
			if t.mayCome() && !slices.Contains(turns, t) {
				turns = append(turns, t)
			}
		}
	}
	return turns
}

// isBehindHangUp reports whether the client frame was recorded after the next hang-up.
func (d *Driver) isBehindHangUp(l *clientFrame) bool {
	return d.hangsUp && slices.ContainsFunc(d.hangUps, func(h hangUp) bool { return h.clientFrames <= l.index && d.isReached(h) })
}

// Placeholders names the messages that hold placeholders of masked secrets, which the
// recorded server had not given before. Unless the live server gives their values, they are
// sent as they stand, and it may answer otherwise than it would to the secrets.
func (d *Driver) Placeholders() (messages []string) {
	given := map[string]bool{}
	heard := 0
	for _, l := range d.clientFrames {
		for ; heard < l.before; heard++ {
			for _, mask := range match.Masks(d.serverMsgs[heard].msg().Raw) {
				given[string(mask)] = true
			}
		}
		for _, mask := range match.Masks(l.frame.Bytes) {
			if !given[string(mask)] {
				messages = append(messages, fmt.Sprintf("#%d %s holds %s", l.seq, l.what(), mask))
				break
			}
		}
	}
	return messages
}
