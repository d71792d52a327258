package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Rules E1, E2, E3 and E11.
var (
	unanswered  = newDemand("E1", "every request is answered", order.Error, "basic, Responses")
	mayStayOpen = newDemand("E2", "a request may stay without an answer", order.Note, "basic, Responses")
	lateAnswer  = newDemand("E3", "an answer may come after its cancellation", order.Note, "basic/utilities/cancellation, Timing Considerations")
	gaveUp      = newDemand("E11", "an answer comes before its caller gives up", order.Warning, "basic/lifecycle, Timeouts")
)

// moment is an event and its time; the zero moment is none.
type moment struct {
	seq uint64
	at  time.Duration
}

// call is a request without an answer so far.
type call struct {
	of      *timeline.Call
	scope   *scope
	dir     transport.Direction
	id      mcp.Key
	method  string
	target  string
	stream  uint64
	seq     uint64
	at      time.Duration
	bytes   int
	notices int // the other end's notifications before the call

	capabilities string // the client's, from the request; "": not named
	progress     moment // the latest
	cancelled    moment
	reason       string // of the cancellation
	timedOut     bool   // the reason is a timeout
	overLimit    bool   // it was reported to take longer than the user allows
	refusal      string // how HTTP refused the answer of the client
	ending       string // how its HTTP exchange ended
	ended        moment // the event of that
	resumable    bool   // the server said how to resume the exchange
	hungUp       bool   // the client ended the exchange
	recorderLeft bool   // the recorder ended the exchange
}

func (c *call) String() string {
	name := clip(c.method)
	if c.target != "" {
		name += " " + quote(c.target)
	}
	return fmt.Sprintf("%s of the %s (id %s, #%d)", name, c.dir.Sender(), clip(string(c.id)), c.seq)
}

// needsNoAnswer reports whether a call may stay open.
func (c *call) needsNoAnswer() bool { return c.cancelled.seq != 0 || c.method == mcp.MethodListen }

// waitsForPerson reports whether a person or a model answers a call, which may take any time.
func (c *call) waitsForPerson() bool {
	return c.method == mcp.MethodElicit || c.method == mcp.MethodCreateMessage
}

// endExchange notes the end of the call's exchange, unless an earlier end is noted.
func (c *call) endExchange(info store.HTTPInfo, at moment) {
	if c.ending == "" {
		c.ending = httpEnding(info, at.seq)
		c.ended = at
		c.hungUp = info.What == store.HTTPAbort
		c.recorderLeft = info.What == store.HTTPLeft
	}
}

// onRequest opens a call.
func (f *Fold) onRequest(e store.Event, scope *scope, message *timeline.Message) {
	of := message.Call
	c := &call{
		of: of, scope: scope, dir: e.Dir, id: of.Key(), method: of.Method, target: of.Target,
		stream: e.Stream, seq: e.Seq, at: e.At, bytes: recordedSize(e, &message.Message), notices: f.traffic.notices[e.Dir.Reverse()],
	}
	if c.dir == transport.ClientToServer {
		if c.method == mcp.MethodListen {
			f.outcome.listens = true
		} else {
			f.outcome.asked++
		}
		if closed := f.exchanges.closedByClient(); closed != 0 {
			c.ending = fmt.Sprintf("the client had closed the stream that the answer was to come on (#%d)", closed)
			c.ended = moment{e.Seq, e.At}
			c.hungUp = true
		}
	}
	f.open(c)
	f.retries.onRequest(c, &message.Message)
	if e.Stream != 0 {
		x := f.exchanges.get(e.Stream)
		x.calls = append(x.calls, c)
	}
	f.gate.onRequest(f.reporter, c)
}

// open notes that a call has no answer.
func (f *Fold) open(c *call) {
	f.calls[c.of] = c
	c.scope.pending[c.of] = c
}

// close notes that a call is no longer waited for. It reports whether the call was.
func (f *Fold) close(c *call) bool {
	isOpen := f.calls[c.of] == c
	delete(f.calls, c.of)
	delete(c.scope.pending, c.of)
	return isOpen
}

// recordedSize returns the length of a message before masking. For a message of a masked
// batch only the masked length is known.
func recordedSize(event store.Event, message *transport.Message) int {
	if len(bytes.TrimSpace(event.Payload)) != len(message.Raw) {
		return len(message.Raw)
	}
	return len(message.Raw) + event.Size() - len(event.Payload)
}

// onResponse closes the answered call and returns the call's method.
func (f *Fold) onResponse(e store.Event, m *timeline.Message) (method string) {
	c := f.calls[m.Call]
	if c == nil {
		return ""
	}
	f.close(c)
	took := e.At - c.at
	failed := m.Error != nil || c.method == mcp.MethodCallTool && string(transport.Member(m.Result, mcp.MemberIsError)) == "true"
	size := recordedSize(e, &m.Message)
	tally := f.tallies.addAnswered(c, took, size, failed)
	if c.dir == transport.ServerToClient && e.Stream != 0 {
		counted := *c
		f.exchanges.get(e.Stream).onRefusal(func(refusal string) {
			if refusal != "" {
				tally.subtract(&counted, took, size, failed)
				c.refusal = refusal
				f.open(c) // again
			}
		})
	}
	f.gate.judgeDuration(f.reporter, c, e.Seq, took, true)
	switch {
	case m.Error != nil:
		f.gate.judgeToolAnswer(f.reporter, c, e.Seq, errorText(m.Error))
	case failed:
		f.gate.judgeToolAnswer(f.reporter, c, e.Seq, "its result has "+mcp.MemberIsError)
	}
	if c.dir == transport.ClientToServer {
		f.outcome.onResponse(c, &m.Message, took)
	}
	revision := c.scope.rules.Revision()
	if c.cancelled.seq != 0 {
		f.report(lateAnswer, e.Dir, revision, []uint64{e.Seq, c.cancelled.seq, c.seq},
			"the %s answered %v after %v, when its cancellation (#%d) had passed", e.Dir.Sender(), c, phrase.Brief(took), c.cancelled.seq)
	}
	f.retries.onResponse(e, c, &m.Message)
	if c.method == mcp.MethodListTools && m.Result != nil {
		f.tools.onList(e, revision, m.Result)
	}
	return c.method
}

// onCancellation notes the cancellation of a call. A cancellation because of a timeout is the
// trace of most hangs.
func (f *Fold) onCancellation(event store.Event, call *call, message *transport.Message) {
	if event.Stream != 0 && event.Dir == transport.ClientToServer {
		before := call.cancelled
		f.exchanges.get(event.Stream).onRefusal(func(refusal string) {
			if refusal != "" {
				call.cancelled = before
			}
		})
	}
	call.cancelled = moment{event.Seq, event.At}
	_ = json.Unmarshal(transport.Member(message.Params, "reason"), &call.reason) // other JSON than a string leaves ""
	waited := event.At - call.at
	f.gate.judgeDuration(f.reporter, call, event.Seq, waited, false)
	if call.timedOut || call.method == mcp.MethodListen || !timeoutWords().MatchString(call.reason) {
		return
	}
	call.timedOut = true
	d := gaveUp
	if f.gate.FailOnTimeout {
		d.Severity = order.Error
	}
	fault := call.dir.Reverse()
	said := fmt.Sprintf("the %s said nothing", call.dir.Receiver())
	if last := f.traffic.lastFrames(call)[fault]; last.seq > call.seq {
		said = fmt.Sprintf("the %s sent #%d last, %v before", call.dir.Receiver(), last.seq, phrase.Brief(event.At-last.at))
	}
	if open := firstAfter(call.scope.open()[fault], call.seq); open != nil {
		said += fmt.Sprintf("; it waited itself for the %s to answer %v", call.dir.Sender(), open)
		fault = call.dir
	}
	f.hold(call.seq, d, fault, call.scope.rules.Revision(), []uint64{event.Seq, call.seq}, "%v: the %s gave up after %v: %s; %s",
		call, call.dir.Sender(), phrase.Brief(waited), call.cancelReason(), said)
}

// onRefusal drops the calls of an exchange that HTTP answered with its status alone.
func (f *Fold) onRefusal(event store.Event, exchange *exchange, status int) {
	exchange.undo(fmt.Sprintf("HTTP status %d (#%d) refused it", status, event.Seq))
	for _, c := range exchange.calls {
		if f.close(c) {
			f.tallies.addAnswered(c, event.At-c.at, 0, true)
			isUnknownMethod := status == http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusMethodNotAllowed
			said := fmt.Sprintf("HTTP status %d", status)
			f.outcome.onFailure(c, said, isUnknownMethod)
			if !mayBeSentAgain(status) {
				f.gate.judgeToolAnswer(f.reporter, c, event.Seq, said)
			}
		}
	}
}

// timeoutWords matches the words in which peers report a timeout: "McpError: MCP error -32001:
// Request timed out" (TypeScript), "context deadline exceeded" (Go), "Timed out while
// waiting for response" (Python), "Did not observe any item or terminal signal within
// 20000ms" (Java), "TimeoutError: …" (a browser). The noun alone proves little, because a
// person may mention a timeout too: the noun counts at the beginning, or behind a word for a
// cause, if only a timeout's verb follows.
var timeoutWords = phrase.Regexp(`(?i)\btime[ds][ -]?out\b|\bdeadline (was |has |had )?(been )?(exceeded|expired|passed)\b|did not observe any item` +
	`|timeout(error|exception|expired)\b|\betimedout\b|(^|error |code |[:(] ?)-32001\b` +
	`|(^|[:(] ?|\b(due to|because of|on|by|hit) )(an? |the )?(` + whatWaits + ` ){0,3}time[ -]?out([^\w ]|$| (` + whatHappened + `|after|of|error)\b)` +
	`|\btime[ -]?out (of \w+ )?((was|has|had|is) )?(been )?(` + whatHappened + `)\b`)

const (
	whatWaits    = `(mcp|client|server|request|response|tool|call|operation|read|socket|connection|session|idle)`
	whatHappened = `(exceeded|expired|reached|elapsed|occurred|waiting|while)`
)

// errorPrefix matches the prefix of an SDK before the words of an error.
var errorPrefix = phrase.Regexp(`^(\w*Error: )?(MCP error -?\d+: )?`)

// cancelReason returns the reason of a cancellation for a sentence.
func (c *call) cancelReason() string {
	return phrase.Clip(strings.TrimSpace(errorPrefix().ReplaceAllString(c.reason, "")), 120)
}

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
func (t *traffic) lastFrames(call *call) [3]moment {
	if call.stream != 0 {
		return call.scope.last
	}
	return t.last
}

// blockedFor is the shortest blocked write, as a tap counts.
const blockedFor = 10 * time.Millisecond

// callerStoppedReading reports whether the caller had stopped reading before it left, and
// took no frames after the request.
func (t *traffic) callerStoppedReading(call *call) bool {
	back := call.dir.Reverse()
	return t.stopped[back] != 0 && t.held[back] >= blockedFor && t.last[back].seq > call.seq
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
		if c.cancelled.seq != 0 || c.hungUp && mcp.Stateless.Has(d.revision) {
			tally.Cancelled++
		} else {
			tally.Open++
		}
		f.gate.judgeDuration(f.reporter, c, until.seq, waited, false)
		f.excuse(&d, c, until)
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
		if silent := until.at - max(c.at, c.progress.at); c.cancelled.seq != 0 && c.method != mcp.MethodListen && silent >= max(f.longWait(), why.Patience) {
			f.hold(c.seq, gaveUp, c.dir.Reverse(), d.revision, []uint64{c.cancelled.seq, c.seq}, "%v: the %s gave up after %v, the last %v without a sign of it%s",
				c, c.dir.Sender(), phrase.Brief(waited), phrase.Brief(silent), strings.TrimSuffix(": "+c.cancelReason(), ": "))
			continue
		}
		if why := d.needsNoAnswer(c); why != "" {
			f.hold(c.seq, mayStayOpen, c.dir, d.revision, []uint64{c.seq}, "%s: %s", head, why)
			continue
		}
		facts := d.facts(c)
		if why := d.leftBehind(c); why != "" {
			facts = slices.DeleteFunc(facts, func(fact string) bool { return fact == c.ending || fact == f.ending.firstToLeave() })
			f.hold(c.seq, mayStayOpen, transport.ClientToServer, d.revision, []uint64{c.seq}, "%s: %s; %s", head, why, strings.Join(facts, "; "))
			continue
		}
		fault := c.dir.Reverse()
		if d.callerStoppedReading(c) || firstAfter(d.open[fault], c.seq) != nil {
			fault = c.dir
		}
		f.hold(c.seq, unanswered, fault, d.revision, []uint64{c.seq, until.seq}, "%s: %s", head, strings.Join(facts, "; "))
	}
	for of := range s.pending {
		delete(f.calls, of)
	}
	clear(s.pending)
}

// endOfWait returns the event at the end of the wait: the cancellation, the end of the call's
// exchange, or the first end of either side.
func (d *diagnosis) endOfWait(call *call) moment {
	switch _, gone := d.ending.first(); {
	case call.cancelled.seq != 0:
		return call.cancelled
	case call.ended.seq != 0 && !call.resumable:
		return call.ended
	case call.scope.deleted.seq > call.seq:
		return call.scope.deleted
	case gone.seq > call.seq:
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
	case c.hungUp && mcp.Stateless.Has(d.revision):
		return c.ending + ", which cancels it"
	case c.dir == transport.ServerToClient && !clientWaits && d.live:
		return "nothing of the client's waits for it"
	case c.dir == transport.ServerToClient && !clientWaits:
		return "the session ended, and nothing of the client's waits for it"
	case c.recorderLeft:
		return c.ending
	case d.ending.gaveUp != 0 && d.ending.exited.seq == 0 && d.ending.closed == [3]moment{}:
		return fmt.Sprintf("the recorder no longer read the server (#%d)", d.ending.gaveUp)
	case d.live && d.now.at-max(c.at, c.progress.at) >= why.Patience:
	case d.live && d.ending.isOpen() && c.ending == "":
		return "the session goes on"
	case d.ending.isOpen() && c.ending == "":
		return "the recording goes no further"
	}
	return ""
}

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
