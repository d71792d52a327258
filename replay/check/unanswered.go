package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Rules E1, E2 and E10.
var (
	unanswered   = newDemand("E1", "every request is answered", order.Error, "basic, Responses")
	mayStayOpen  = newDemand("E2", "a request may stay without an answer", order.Note, "basic, Responses")
	clientGoesOn = newDemand("E10", "a client goes on behind an answer", order.Note, "")
)

// traffic is the record of each direction, besides the calls.
type traffic struct {
	last    [3]moment        // the last frame
	stopped [3]uint64        // the event from which the receiver no longer read
	held    [3]time.Duration // how long the last frame before was not taken
	blocked [3]stall         // the last blocked write
	notices [3]int           // notifications
}

// stall is a blocked write.
type stall struct {
	moment
	upto    uint64
	blocked time.Duration
}

// lastFrames returns the last frames of both directions: over HTTP in the call's scope, because
// other frames may be another client's.
func (t *traffic) lastFrames(c *call) [3]moment {
	if c.stream != 0 {
		return c.scope.last
	}
	return t.last
}

// blockedFor is the shortest blocked write, as a tap counts.
const blockedFor = 10 * time.Millisecond

// callerStoppedReading reports whether the caller had stopped reading before it left, and
// took no frames after the request.
func (t *traffic) callerStoppedReading(c *call) bool {
	back := c.dir.Reverse()
	return t.stopped[back] != 0 && t.held[back] >= blockedFor && t.last[back].seq > c.seq
}

// diagnosis explains the open calls of a scope, at its end.
type diagnosis struct {
	*traffic
	ending   *ending
	slowest  time.Duration // the longest wait of the client for an answer
	now      moment
	live     bool // the session goes on at now
	revision string
	open     [3][]*call // see scope.open
}

// endScope is rules E1 and E2 for the open calls of a scope. A timeout was reported at the
// cancellation.
func (f *Fold) endScope(s *scope) {
	if s.isSession && s.beginning == middle && !s.refused {
		s.reportMiddle(f.reporter)
	}
	d := diagnosis{traffic: &f.traffic, ending: &f.ending, slowest: f.outcome.slowest, now: f.now, live: f.live, revision: s.rules.Revision(), open: s.open()}
	for _, c := range slices.Concat(d.open[:]...) {
		until := d.endOfWait(c)
		waited := until.at - c.at
		tally := f.tallies.add(c, waited)
		if c.cancelled.seq != 0 {
			tally.Cancelled++
		} else {
			tally.Open++
		}
		f.gate.judgeDuration(f.reporter, c, until.seq, waited, false)
		if c.timedOut {
			continue
		}
		head := fmt.Sprintf("%v waited %v, to #%d, without an answer", c, phrase.Brief(waited), until.seq)
		if d.live && until == d.now {
			head = fmt.Sprintf("%v has waited %v without an answer, and still waits", c, phrase.Brief(waited))
		}
		if c.refusal != "" {
			head += " that was taken: " + c.refusal
		}
		if why := d.needsNoAnswer(c); why != "" {
			f.report(mayStayOpen, c.dir, d.revision, []uint64{c.seq}, "%s: %s", head, why)
			continue
		}
		facts := d.facts(c)
		if why := d.leftBehind(c); why != "" {
			facts = slices.DeleteFunc(facts, func(fact string) bool { return fact == c.ending || fact == f.ending.firstToLeave() })
			f.report(mayStayOpen, transport.ClientToServer, d.revision, []uint64{c.seq}, "%s: %s; %s", head, why, strings.Join(facts, "; "))
			continue
		}
		fault := c.dir.Reverse()
		if d.callerStoppedReading(c) || firstAfter(d.open[fault], c.seq) != nil {
			fault = c.dir
		}
		f.report(unanswered, fault, d.revision, []uint64{c.seq, until.seq}, "%s: %s", head, strings.Join(facts, "; "))
	}
	s.calls = timeline.Index[mcp.Key, *call]{}
}

// endOfWait returns the event at the end of the wait: the cancellation, the end of the call's
// exchange, or the first end of either side.
func (d *diagnosis) endOfWait(c *call) moment {
	switch _, gone := d.ending.first(); {
	case c.cancelled.seq != 0:
		return c.cancelled
	case c.ended.seq != 0 && !c.resumable:
		return c.ended
	case c.scope.deleted.seq > c.seq:
		return c.scope.deleted
	case gone.seq > c.seq:
		return gone
	}
	return d.now
}

// needsNoAnswer says why a call needs no answer, or why the recording cannot have the answer;
// "" if neither holds.
func (d *diagnosis) needsNoAnswer(c *call) string {
	clientWaits := slices.ContainsFunc(d.open[transport.ClientToServer], func(c *call) bool { return !c.needsNoAnswer() })
	switch {
	case c.cancelled.seq != 0 && c.reason != "":
		return fmt.Sprintf("it was cancelled (#%d): %s", c.cancelled.seq, c.cancelReason())
	case c.cancelled.seq != 0:
		return fmt.Sprintf("it was cancelled (#%d)", c.cancelled.seq)
	case c.method == mcp.MethodListen:
		return "it is a subscription, which lasts"
	case c.hungUp && d.revision >= mcp.Revision2026_07_28:
		return c.ending + ", which cancels it"
	case c.dir == transport.ServerToClient && !clientWaits && d.live:
		return "nothing of the client's waits for it"
	case c.dir == transport.ServerToClient && !clientWaits:
		return "the session ended, and nothing of the client's waits for it"
	case c.recorderLeft:
		return c.ending
	case d.ending.gaveUp != 0 && d.ending.exited.seq == 0 && d.ending.closed == [3]moment{}:
		return fmt.Sprintf("the recorder no longer read the server (#%d)", d.ending.gaveUp)
	case d.live && d.now.at-max(c.at, c.progress.at) >= patience:
	case d.live && d.ending.isOpen() && c.ending == "":
		return "the session goes on"
	case d.ending.isOpen() && c.ending == "":
		return "the recording goes no further"
	}
	return ""
}

// A client leaves open calls behind. Neither end is at fault, unless the client had waited in
// vain: the call was silent for leftFor, and for leftTimes as long as any answer took before,
// or for leftLong.
const (
	leftFor   = time.Second
	leftTimes = 10
	leftLong  = 10 * time.Second
)

// patience is how long a call of a session that goes on may be without a sign from its
// receiver.
const patience = 5 * time.Second

// leftBehind describes how the caller left a call behind; "" if the departure does not
// explain the missing answer.
func (d *diagnosis) leftBehind(c *call) string {
	who, gone := d.ending.first()
	said := fmt.Sprintf("the client closed its end (#%d)", gone.seq)
	switch {
	case c.hungUp:
		who = transport.ClientToServer
		gone = c.ended
		said = c.ending
	case c.ending != "" && !c.resumable:
		return ""
	case c.scope.deleted.seq > c.seq:
		who = transport.ClientToServer
		gone = c.scope.deleted
		said = fmt.Sprintf("the client ended its session with DELETE (#%d)", gone.seq)
	case who == transport.ServerToClient && c.dir == who:
		return fmt.Sprintf("the server ended first (#%d)", gone.seq)
	case who == transport.ClientToServer && d.ending.closed[who] != gone:
		said = d.ending.firstToLeave()
	}
	if who != transport.ClientToServer || gone.seq < c.seq {
		return ""
	}
	if open := firstAfter(d.open[transport.ServerToClient], c.seq); c.dir == transport.ClientToServer && open != nil && (open.waitsForPerson() || gone.at-open.at < leftFor) {
		return said // the facts say which answer the client owed
	}
	if c.dir == transport.ServerToClient && c.waitsForPerson() {
		return said + " and had not answered"
	}
	since := moment{c.seq, c.at}
	back := c.dir.Reverse()
	for _, sign := range []moment{c.progress, d.blocked[back].moment} {
		if sign.seq > since.seq && sign.seq < gone.seq {
			since = sign
		}
	}
	quiet := gone.at - since.at
	switch {
	case quiet >= leftLong || quiet >= leftFor && quiet >= leftTimes*d.slowest || d.callerStoppedReading(c) && d.held[back] >= leftFor:
		return ""
	case since.seq == c.seq:
		return said
	case since == c.progress:
		return fmt.Sprintf("%s %v after progress of it (#%d)", said, phrase.Brief(quiet), since.seq)
	}
	return fmt.Sprintf("%s %v after it had taken what the server sent (#%d)", said, phrase.Brief(quiet), since.seq)
}

// facts lists the evidence about a call without an answer.
func (d *diagnosis) facts(c *call) (facts []string) {
	back := c.dir.Reverse()
	if c.ending != "" {
		facts = append(facts, c.ending)
	}
	for _, dir := range []transport.Direction{c.dir, back} {
		if d.stopped[dir] == 0 {
			continue
		}
		fact := fmt.Sprintf("the %s no longer read (#%d)", dir.Receiver(), d.stopped[dir])
		if held := d.held[dir]; held >= blockedFor && d.last[dir].seq != 0 {
			fact += fmt.Sprintf(", when #%d had waited %v to be taken", d.last[dir].seq, phrase.Brief(held))
		}
		facts = append(facts, fact)
	}
	if n := d.notices[back] - c.notices; n > 0 && d.callerStoppedReading(c) {
		facts = append(facts, fmt.Sprintf("notifications to the %s meanwhile: %d; a receive loop that waits for room to put them in does not come to the answer (mcprec replay --%s inbox:0)",
			c.dir.Sender(), n, c.dir.Sender()))
	}
	if left := d.ending.firstToLeave(); left != "" {
		facts = append(facts, left)
	}
	if open := firstAfter(d.open[back], c.seq); open != nil {
		facts = append(facts, fmt.Sprintf("the %s itself waits for the %s to answer %v", c.dir.Receiver(), c.dir.Sender(), open))
	}
	for _, dir := range []transport.Direction{c.dir, back} {
		if b := d.blocked[dir]; b.seq > c.seq {
			fact := fmt.Sprintf("the %s took #%d", dir.Receiver(), b.upto)
			if b.blocked > 0 {
				fact += fmt.Sprintf(" after a write had blocked for %v", phrase.Brief(b.blocked))
			}
			facts = append(facts, fmt.Sprintf("%s (#%d)", fact, b.seq))
		}
	}
	last := d.lastFrames(c)
	said := fmt.Sprintf("the %s sent nothing after the request", c.dir.Receiver())
	if answerer := last[back].seq; answerer > c.seq {
		said = fmt.Sprintf("the %s sent #%d last", c.dir.Receiver(), answerer)
	}
	return append(facts, fmt.Sprintf("%s, the %s #%d", said, c.dir.Sender(), last[c.dir].seq))
}

// A client is silent behind an answer if no frame comes for silentFor, and for silentTimes
// as long as the client ever took before to go on.
const (
	silentFor   = time.Second
	silentTimes = 10
)

// silence is rule E10. It watches for a client that does not go on behind an answer that
// stood behind notifications: a hang looks so where the pipes hold the unread frames.
type silence struct {
	call    string // the client's last call answered behind notifications
	notices int
	answer  moment        // 0: the client has gone on
	end     moment        // of the silence
	longest time.Duration // the client's longest pause before
}

// onClientFrame ends the silence.
func (s *silence) onClientFrame(e store.Event, last [3]moment) {
	if behind := last[transport.ServerToClient].at; behind > last[transport.ClientToServer].at {
		s.longest = max(s.longest, e.At-behind)
	}
	s.answer.seq = 0
}

// onResponse notes an answer to the client.
func (s *silence) onResponse(e store.Event, c *call, notices int) {
	s.answer.seq = 0
	if notices > 0 && e.Stream == 0 {
		*s = silence{call: c.String(), notices: notices, answer: moment{e.Seq, e.At}, longest: s.longest}
	}
}

// onEnd notes the first event at the end of the wait.
func (s *silence) onEnd(e store.Event) {
	if s.end.seq == 0 {
		s.end = moment{e.Seq, e.At}
	}
}

// judge is rule E10, at the end of a session in which no call is open.
func (s *silence) judge(r *reporter, revision string) {
	took := s.end.at - s.answer.at
	if s.answer.seq == 0 || s.end.seq == 0 || r.hasUnanswered || took < silentFor || took < silentTimes*s.longest {
		return
	}
	r.report(clientGoesOn, transport.ClientToServer, revision, []uint64{s.answer.seq, s.end.seq},
		"the client said nothing for %v after it was sent the answer to %s, until #%d; notifications before that answer: %d; a receive loop that waits for room to put them in does not come to the answer (mcprec replay --client inbox:0)",
		phrase.Brief(took), s.call, s.end.seq, s.notices)
}
