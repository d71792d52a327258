package check

import (
	"fmt"
	"net/http"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Rule E3.
var lateAnswer = newDemand("E3", "an answer may come after its cancellation", order.Note, "basic/utilities/cancellation, Timing Considerations")

// moment is an event and its time; the zero moment is none.
type moment struct {
	seq uint64
	at  time.Duration
}

// call is a request without an answer so far.
type call struct {
	of     *timeline.Call
	scope  *scope
	dir    transport.Direction
	id     mcp.Key
	method string
	target string
	stream uint64
	seq    uint64
	at     time.Duration
	bytes  int

	capabilities string // the client's, from the request; "": not named
	cancelled    moment
	overLimit    bool // it was reported to take longer than the user allows
	hungUp       bool // the client ended its HTTP exchange
}

func (c *call) String() string {
	name := clip(c.method)
	if c.target != "" {
		name += " " + quote(c.target)
	}
	return fmt.Sprintf("%s of the %s (id %s, #%d)", name, c.dir.Sender(), clip(string(c.id)), c.seq)
}

// onRequest opens a call.
func (f *Fold) onRequest(step timeline.Step, scope *scope, message *timeline.Message) {
	of := message.Call
	c := &call{
		of: of, scope: scope, dir: step.Dir, id: of.Key(), method: of.Method, target: of.Target,
		stream: step.Stream, seq: step.Seq, at: step.At, bytes: recordedSize(step.Event, &message.Message),
	}
	if c.dir == transport.ClientToServer {
		if c.method == mcp.MethodListen {
			f.outcome.listens = true
		} else {
			f.outcome.asked++
		}
	}
	f.open(c)
	f.retries.onRequest(c, &message.Message)
	if step.Stream != 0 {
		x := f.exchanges.get(step.Stream)
		x.calls = append(x.calls, c)
	}
	f.gate.onRequest(f.reporter, c)
}

// open notes that a call has no answer.
func (f *Fold) open(c *call) {
	f.calls[c.of] = c
	c.scope.open++
}

// close notes that a call is no longer waited for. It reports whether the call was.
func (f *Fold) close(c *call) bool {
	isOpen := f.calls[c.of] == c
	if isOpen {
		delete(f.calls, c.of)
		c.scope.open--
	}
	return isOpen
}

// recordedSize returns the length of a message before masking. For a message of a masked
// batch only the masked length is known.
func recordedSize(event store.Event, message *transport.Message) int {
	if len(transport.TrimBlanks(event.Payload)) != len(message.Raw) {
		return len(message.Raw)
	}
	return len(message.Raw) + event.Size() - len(event.Payload)
}

// onResponse closes the answered call and returns the call's method.
func (f *Fold) onResponse(step timeline.Step, m *timeline.Message) (method string) {
	c := f.calls[m.Call]
	if c == nil {
		return ""
	}
	f.close(c)
	took := step.At - c.at
	failed := m.Error != nil || c.method == mcp.MethodCallTool && string(transport.Member(m.Result, mcp.MemberIsError)) == "true"
	size := recordedSize(step.Event, &m.Message)
	tally := f.tallies.addAnswered(c, took, size, failed)
	if c.dir == transport.ServerToClient && step.Stream != 0 {
		x := f.exchanges.get(step.Stream)
		x.taken = append(x.taken, takenAnswer{c, tally, took, size, failed})
	}
	f.gate.judgeDuration(f.reporter, c, step.Seq, took, true)
	switch {
	case m.Error != nil:
		f.gate.judgeToolAnswer(f.reporter, c, step.Seq, errorText(m.Shown().Error))
	case failed:
		f.gate.judgeToolAnswer(f.reporter, c, step.Seq, "its result has "+mcp.MemberIsError)
	}
	if c.dir == transport.ClientToServer {
		f.outcome.onResponse(c, m)
	}
	revision := c.scope.rules.Revision()
	if c.cancelled.seq != 0 {
		f.report(lateAnswer, step.Dir, revision, []uint64{step.Seq, c.cancelled.seq, c.seq},
			"the %s answered %v after %v, when its cancellation (#%d) had passed", step.Dir.Sender(), c, phrase.Brief(took), c.cancelled.seq)
	}
	f.retries.onResponse(step, c, &m.Message)
	if c.method == mcp.MethodListTools && m.Result != nil {
		f.tools.onList(step, revision, m.Shown().Result)
	}
	return c.method
}

// onCancellation notes the cancellation of a call.
func (f *Fold) onCancellation(step timeline.Step, call *call) {
	call.cancelled = moment{step.Seq, step.At}
	f.gate.judgeDuration(f.reporter, call, step.Seq, step.At-call.at, false)
}

// takenAnswer is an answer of the client that HTTP may still refuse.
type takenAnswer struct {
	call   *call
	tally  *Tally
	took   time.Duration
	size   int
	failed bool
}

// onUndone takes back the answers and the cancellations that HTTP refuses.
func (f *Fold) onUndone(step timeline.Step, x *exchange) {
	for _, of := range step.Undone {
		if c := f.calls[of]; c != nil && of.Cancelled == 0 {
			c.cancelled = moment{}
		}
		for _, a := range x.taken {
			if a.call.of == of && f.calls[of] == nil {
				a.tally.subtract(a.call, a.took, a.size, a.failed)
				f.open(a.call)
			}
		}
	}
}

// onRefusal drops the calls of an exchange that HTTP answered with its status alone.
func (f *Fold) onRefusal(step timeline.Step, exchange *exchange, status int) {
	exchange.undo()
	for _, c := range exchange.calls {
		if f.close(c) {
			f.tallies.addAnswered(c, step.At-c.at, 0, true)
			isUnknownMethod := status == http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusMethodNotAllowed
			said := fmt.Sprintf("HTTP status %d", status)
			f.outcome.onFailure(c, said, isUnknownMethod)
			if !mayBeSentAgain(status) {
				f.gate.judgeToolAnswer(f.reporter, c, step.Seq, said)
			}
		}
	}
}
