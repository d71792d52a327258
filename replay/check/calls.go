package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Rules E3 and E11.
var (
	lateAnswer = newDemand("E3", "an answer may come after its cancellation", order.Note, "basic/utilities/cancellation, Timing Considerations")
	gaveUp     = newDemand("E11", "an answer comes before its caller gives up", order.Warning, "basic/lifecycle, Timeouts")
)

// moment is an event and its time; the zero moment is none.
type moment struct {
	seq uint64
	at  time.Duration
}

// call is a request without an answer so far.
type call struct {
	scope   *scope
	dir     transport.Direction
	id      mcp.Key
	method  string
	target  string
	stream  uint64
	seq     uint64
	at      time.Duration
	bytes   int
	token   mcp.Key // of its progress; "": it asks for none
	notices int     // the other end's notifications before the call

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
func (f *Fold) onRequest(e store.Event, s *scope, m *transport.Message) {
	target, _ := timeline.Target(*m)
	c := &call{
		scope: s, dir: e.Dir, id: mcp.KeyOf(m.ID), method: m.Method, target: strings.Clone(target),
		stream: e.Stream, seq: e.Seq, at: e.At, bytes: recordedSize(e, m), notices: f.traffic.notices[e.Dir.Reverse()],
		token: mcp.KeyOf(m.ProgressToken()),
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
	s.calls.Ask(c.dir, c.stream, c.id, c.token, c)
	f.retries.onRequest(c, m)
	if e.Stream != 0 {
		x := f.exchanges.get(e.Stream)
		x.calls = append(x.calls, c)
	}
	f.gate.onRequest(f.reporter, c)
}

// recordedSize returns the length of a message before masking. For a message of a masked
// batch only the masked length is known.
func recordedSize(e store.Event, m *transport.Message) int {
	if len(bytes.TrimSpace(e.Payload)) != len(m.Raw) {
		return len(m.Raw)
	}
	return len(m.Raw) + e.Size() - len(e.Payload)
}

// onResponse closes the answered call and returns the call's method.
func (f *Fold) onResponse(e store.Event, s *scope, m *transport.Message) (method string) {
	c, found := s.calls.Answer(e.Dir.Reverse(), e.Stream, mcp.KeyOf(m.ID))
	if !found {
		return ""
	}
	took := e.At - c.at
	failed := m.Error != nil || c.method == mcp.MethodCallTool && string(transport.Member(m.Result, mcp.MemberIsError)) == "true"
	size := recordedSize(e, m)
	tally := f.tallies.addAnswered(c, took, size, failed)
	if c.dir == transport.ServerToClient && e.Stream != 0 {
		counted := *c
		f.exchanges.get(e.Stream).onRefusal(func(refusal string) {
			if refusal != "" {
				tally.subtract(&counted, took, size, failed)
				c.refusal = refusal
				s.calls.Ask(c.dir, 0, c.id, c.token, c) // open again
			}
		})
	}
	f.gate.judgeDuration(f.reporter, c, e.Seq, took, true)
	if c.dir == transport.ClientToServer {
		f.outcome.onResponse(c, m, took)
		f.silence.onResponse(e, c, f.traffic.notices[e.Dir]-c.notices)
	}
	revision := s.rules.Revision()
	if c.cancelled.seq != 0 {
		f.report(lateAnswer, e.Dir, revision, []uint64{e.Seq, c.cancelled.seq, c.seq},
			"the %s answered %v after %v, when its cancellation (#%d) had passed", e.Dir.Sender(), c, phrase.Brief(took), c.cancelled.seq)
	}
	f.retries.onResponse(e, c, m)
	if c.method == mcp.MethodListTools && m.Result != nil {
		f.tools.onList(e, revision, m.Result)
	}
	return c.method
}

// onCancellation notes the cancellation of a call. A cancellation because of a timeout is the
// trace of most hangs, and is reported at once.
func (f *Fold) onCancellation(e store.Event, c *call, m *transport.Message) {
	if e.Stream != 0 && e.Dir == transport.ClientToServer {
		before := c.cancelled
		f.exchanges.get(e.Stream).onRefusal(func(refusal string) {
			if refusal != "" {
				c.cancelled = before
			}
		})
	}
	c.cancelled = moment{e.Seq, e.At}
	_ = json.Unmarshal(transport.Member(m.Params, "reason"), &c.reason) // other JSON than a string leaves ""
	waited := e.At - c.at
	f.gate.judgeDuration(f.reporter, c, e.Seq, waited, false)
	if c.timedOut || c.method == mcp.MethodListen || !timeoutWords().MatchString(c.reason) {
		return
	}
	c.timedOut = true
	d := gaveUp
	if f.gate.FailOnTimeout {
		d.Severity = order.Error
	}
	fault := c.dir.Reverse()
	said := fmt.Sprintf("the %s said nothing", c.dir.Receiver())
	if last := f.traffic.lastFrames(c)[fault]; last.seq > c.seq {
		said = fmt.Sprintf("the %s sent #%d last, %v before", c.dir.Receiver(), last.seq, phrase.Brief(e.At-last.at))
	}
	if open := firstAfter(c.scope.open()[fault], c.seq); open != nil {
		said += fmt.Sprintf("; it waited itself for the %s to answer %v", c.dir.Sender(), open)
		fault = c.dir
	}
	f.report(d, fault, c.scope.rules.Revision(), []uint64{e.Seq, c.seq}, "%v: the %s gave up after %v: %s; %s",
		c, c.dir.Sender(), phrase.Brief(waited), c.cancelReason(), said)
}

// onSessionlessCancellation finds the call of a cancellation over HTTP without a session.
// Another client may have sent the cancellation: only a single open request with the id counts.
func (f *Fold) onSessionlessCancellation(e store.Event, p order.Parsed) {
	for i := range p.Messages {
		m := &p.Messages[i]
		id := transport.Member(m.Params, mcp.MemberRequestID)
		if m.Method != mcp.NotificationCancelled || id == nil {
			continue
		}
		var found []*call
		for _, x := range f.exchanges.all {
			if x.own == nil {
				continue
			}
			if c, ok := x.own.calls.Cancel(e.Dir, mcp.KeyOf(id)); ok {
				found = append(found, c)
			}
		}
		if len(found) == 1 {
			f.onCancellation(e, found[0], m)
		}
	}
}

// onRefusal drops the calls of an exchange that HTTP answered with its status alone.
func (f *Fold) onRefusal(e store.Event, x *exchange, status int) {
	x.undo(fmt.Sprintf("HTTP status %d (#%d) refused it", status, e.Seq))
	for _, c := range x.calls {
		if c.scope.calls.Drop(c.dir, c.id, func(other *call) bool { return other == c }) {
			f.tallies.addAnswered(c, e.At-c.at, 0, true)
			isUnknownMethod := status == http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusMethodNotAllowed
			f.outcome.onFailure(c, fmt.Sprintf("HTTP status %d", status), isUnknownMethod)
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
