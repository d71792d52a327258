package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
)

// Close ends the session and returns what it was.
func (f *Fold) Close() Summary {
	for _, stream := range slices.Sorted(maps.Keys(f.scopes.exchanges)) {
		if own := f.scopes.exchanges[stream]; !own.kept {
			f.leaves(own)
		}
	}
	for _, own := range f.scopes.kept {
		f.leaves(own)
	}
	f.leavesPosts()
	f.judgeEnding()
	f.silence.tell(f)
	f.gate.close(f)
	return f.summary()
}

// leaves reports the calls of a scope that have no answer at its end.
func (f *Fold) leaves(s *scope) {
	if s.kept && s.begun == middle && !s.refused {
		f.headless(s)
	}
	l := left{revision: s.rules.Revision()}
	for _, c := range s.calls.sorted() {
		l.by[c.dir&3%3] = append(l.by[c.dir&3%3], c)
	}
	for _, list := range l.by {
		for _, c := range list {
			f.withoutAnswer(c, l)
		}
	}
	clear(s.calls)
	clear(s.tokens)
}

// left is what a scope has without an answer.
type left struct {
	revision string
	by       [3][]*call // by direction, in their order
}

// waits reports whether a call of the client waits for good.
func (l *left) waits() bool {
	return slices.ContainsFunc(l.by[transport.ClientToServer], func(c *call) bool { return !c.lasts() })
}

// after returns the first of a direction that was asked after an event.
func (l *left) after(dir transport.Direction, seq uint64) *call {
	list := l.by[dir]
	i, _ := slices.BinarySearchFunc(list, seq+1, func(c *call, seq uint64) int { return cmp.Compare(c.seq, seq) })
	for ; i < len(list); i++ {
		if !list[i].lasts() {
			return list[i]
		}
	}
	return nil
}

// lasts reports whether a call needs no answer.
func (c *call) lasts() bool { return c.cancelled.seq != 0 || c.method == methodListen }

// withoutAnswer tells of a call that has no answer. One that timed out was told of when
// it was cancelled.
func (f *Fold) withoutAnswer(c *call, l left) {
	until := f.waitedTo(c)
	waited := until.at - c.at
	f.tallies.leaves(c, waited)
	f.gate.waits(f, c, until.seq, waited)
	if c.timedOut {
		return
	}
	head := fmt.Sprintf("%v waited %v, to #%d, without an answer", c, phrase.Brief(waited), until.seq)
	if c.refusal != "" {
		head += " that was taken: " + c.refusal
	}
	if why := f.needsNone(c, l); why != "" {
		f.finds(openEnd, c.dir, l.revision, []uint64{c.seq}, "%s: %s", head, why)
		return
	}
	if why := f.leftBehind(c, l); why != "" {
		told := append(f.whoEnded(), c.ending)
		facts := slices.DeleteFunc(f.whoHasIt(c, l), func(fact string) bool { return slices.Contains(told, fact) })
		f.finds(openEnd, transport.ClientToServer, l.revision, []uint64{c.seq}, "%s: %s; %s", head, why, strings.Join(facts, "; "))
		return
	}
	fault := c.dir.Reverse()
	if f.swallows(c) || l.after(c.dir.Reverse(), c.seq) != nil {
		fault = c.dir
	}
	f.finds(unanswered, fault, l.revision, []uint64{c.seq, until.seq}, "%s: %s", head, strings.Join(f.whoHasIt(c, l), "; "))
}

// waitedTo returns the event that ended the wait for an answer: the cancellation, the end
// of its exchange, or the first end of either side.
func (f *Fold) waitedTo(c *call) moment {
	switch _, gone := f.end.first(); {
	case c.cancelled.seq != 0:
		return c.cancelled
	case c.ended.seq != 0 && !c.again:
		return c.ended
	case c.in.deleted.seq > c.seq:
		return c.in.deleted
	case gone.seq > c.seq:
		return gone
	}
	return moment{f.seq, f.at}
}

// needsNone says why a call needs no answer, or why the recording cannot have it; "" where
// neither is so.
func (f *Fold) needsNone(c *call, l left) string {
	switch {
	case c.cancelled.seq != 0 && c.reason != "":
		return fmt.Sprintf("it was cancelled (#%d): %s", c.cancelled.seq, c.why())
	case c.cancelled.seq != 0:
		return fmt.Sprintf("it was cancelled (#%d)", c.cancelled.seq)
	case c.method == methodListen:
		return "it is a subscription, which lasts"
	case c.hungUp && l.revision >= order.Revision2026_07_28:
		return c.ending + ", which cancels it"
	case c.dir == transport.ServerToClient && !l.waits():
		return "the session ended, and nothing of the client's waits for it"
	case c.left:
		return c.ending
	case f.end.gaveUp != 0 && f.end.exited.seq == 0 && f.end.closed == [3]moment{}:
		return fmt.Sprintf("the recorder no longer read the server (#%d)", f.end.gaveUp)
	case f.end.live() && c.ending == "":
		return "the recording goes no further"
	}
	return ""
}

// A client that goes away leaves its open calls behind. That is nobody's fault, unless it
// went because it had waited in vain. It has waited in vain for a call if nothing came of
// the call for leftFor, and for leftTimes as long as any answer took before, or if nothing
// came for leftLong.
const (
	leftFor   = time.Second
	leftTimes = 10
	leftLong  = 10 * time.Second
)

// leftBehind says how the client left a call behind, or the server one of its own; ""
// where that is not all that there is to say.
func (f *Fold) leftBehind(c *call, l left) string {
	who, gone := f.end.first()
	said := fmt.Sprintf("the client closed its end (#%d)", gone.seq)
	switch {
	case c.hungUp:
		who, gone, said = transport.ClientToServer, c.ended, c.ending
	case c.ending != "" && !c.again:
		return ""
	case c.in.deleted.seq > c.seq:
		who, gone, said = transport.ClientToServer, c.in.deleted, fmt.Sprintf("the client ended its session with DELETE (#%d)", c.in.deleted.seq)
	case who == transport.ServerToClient && c.dir == who:
		return fmt.Sprintf("the server ended first (#%d)", gone.seq)
	case who == transport.ClientToServer && f.end.closed[who] != gone:
		said = fmt.Sprintf("the server was asked to end (#%d, exit %s)", gone.seq, clip(f.end.exit.String()))
	}
	if who != transport.ClientToServer || gone.seq < c.seq {
		return ""
	}
	if open := l.after(transport.ServerToClient, c.seq); c.dir == transport.ClientToServer && open != nil && (open.asksSomebody() || gone.at-open.at < leftFor) {
		return said // whoHasIt says which answer it owed
	}
	if c.dir == transport.ServerToClient && c.asksSomebody() {
		return said + " and had not answered"
	}
	since := moment{c.seq, c.at}
	for _, sign := range []moment{c.progress, f.blocked[c.dir.Reverse()].moment} {
		if sign.seq > since.seq && sign.seq < gone.seq {
			since = sign
		}
	}
	quiet := gone.at - since.at
	if quiet >= leftLong || quiet >= leftFor && quiet >= leftTimes*f.slowest || f.swallows(c) && f.held[c.dir.Reverse()] >= leftFor {
		return ""
	}
	switch {
	case since.seq == c.seq:
		return said
	case since == c.progress:
		return fmt.Sprintf("%s %v after progress of it (#%d)", said, phrase.Brief(quiet), since.seq)
	}
	return fmt.Sprintf("%s %v after it had taken what the server sent (#%d)", said, phrase.Brief(quiet), since.seq)
}

// asksSomebody reports whether a person or a model answers a call, which takes as long as
// it takes.
func (c *call) asksSomebody() bool {
	return c.method == "elicitation/create" || c.method == "sampling/createMessage"
}

// whoHasIt says what the recording shows of where a call is.
func (f *Fold) whoHasIt(c *call, l left) (facts []string) {
	to, back := c.dir, c.dir.Reverse()
	if c.ending != "" {
		facts = append(facts, c.ending)
	}
	for _, way := range []transport.Direction{to, back} {
		if f.stopped[way] != 0 {
			facts = append(facts, f.noLongerRead(way))
		}
	}
	if n := f.notices[back] - c.notices; n > 0 && f.swallows(c) {
		facts = append(facts, fmt.Sprintf("notifications to the %s meanwhile: %d; a receive loop that waits for room to put them in does not come to the answer (mcprec replay --%s inbox:0)",
			c.dir.Sender(), n, c.dir.Sender()))
	}
	facts = append(facts, f.whoEnded()...)
	if o := l.after(back, c.seq); o != nil {
		facts = append(facts, fmt.Sprintf("the %s itself waits for the %s to answer %v", to.Receiver(), to.Sender(), o))
	}
	for _, way := range []transport.Direction{to, back} {
		if b := f.blocked[way]; b.seq > c.seq {
			facts = append(facts, b.said(way))
		}
	}
	return append(facts, f.lastFrames(c))
}

// blockedFor is how long a write takes at least that has blocked, as a tap counts.
const blockedFor = 10 * time.Millisecond

// swallows reports whether the end that waits for a call had stopped reading before it went
// away: it did not take what was sent to it after the request.
func (f *Fold) swallows(c *call) bool {
	back := c.dir.Reverse()
	return f.stopped[back] != 0 && f.held[back] >= blockedFor && f.last[back].seq > c.seq
}

// noLongerRead says when a receiver had gone, and what waited for it.
func (f *Fold) noLongerRead(way transport.Direction) string {
	text := fmt.Sprintf("the %s no longer read (#%d)", way.Receiver(), f.stopped[way])
	if held := f.held[way]; held >= blockedFor && f.last[way].seq != 0 {
		text += fmt.Sprintf(", when #%d had waited %v to be taken", f.last[way].seq, phrase.Brief(held))
	}
	return text
}

// said tells what its receiver is known to have taken.
func (b stall) said(way transport.Direction) string {
	took := fmt.Sprintf("the %s took #%d", way.Receiver(), b.upto)
	if b.blocked > 0 {
		took += fmt.Sprintf(" after a write had blocked for %v", phrase.Brief(b.blocked))
	}
	return fmt.Sprintf("%s (#%d)", took, b.seq)
}

// whoEnded says which end left first.
func (f *Fold) whoEnded() []string {
	switch who, gone := f.end.first(); {
	case who == transport.ServerToClient && f.end.exited.seq != 0:
		return []string{fmt.Sprintf("the server ended first (#%d, exit %s)", gone.seq, clip(f.end.exit.String()))}
	case who == transport.ServerToClient:
		return []string{fmt.Sprintf("the server ended first (#%d)", gone.seq)}
	case who == transport.ClientToServer && f.end.closed[who] != gone:
		return []string{fmt.Sprintf("the server was asked to end (#%d, exit %s)", gone.seq, clip(f.end.exit.String()))}
	case who == transport.ClientToServer:
		return []string{fmt.Sprintf("the client ended the session (#%d) while it was open", gone.seq)}
	}
	return nil
}

// lastFrames says who spoke last.
func (f *Fold) lastFrames(c *call) string {
	last := f.lastOf(c)
	answerer := last[c.dir.Reverse()].seq
	said := fmt.Sprintf("the %s sent nothing after the request", c.dir.Receiver())
	if answerer > c.seq {
		said = fmt.Sprintf("the %s sent #%d last", c.dir.Receiver(), answerer)
	}
	return fmt.Sprintf("%s, the %s #%d", said, c.dir.Sender(), last[c.dir].seq)
}

// lastOf returns the last frames of both directions: over HTTP those of the call's scope,
// as others may be of another client.
func (f *Fold) lastOf(c *call) [3]moment {
	if c.stream != 0 {
		return c.in.last
	}
	return f.last
}
