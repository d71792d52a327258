package recording

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/replay/external"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/workload"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// waits finds out what a call waits for that has no answer: until another call comes it is no hang.
type waits struct {
	hung *external.Made // the session without the answer, while one is made that may bring it; nil: none is
	say  func(text string)
}

// learn takes a session, and says why it is made again, with what the wishes have by now; "": it is not. The session may be the one
// without the answer then, again: it is what a search looks for.
func (w *waits) learn(wishes *workload.Wishes, made external.Made, offer workload.Offer) (external.Made, string) {
	if w.hung != nil {
		return w.judge(wishes, made, offer)
	}
	call := firstOpen(made)
	if made.Fault == nil || made.Fault.Kind != external.Hang || !made.Fault.Certain || call == nil {
		return made, ""
	}
	isOfTool := func(known workload.Wait) bool { return known.Call.Tool == call.Tool }
	isKnown := slices.ContainsFunc(wishes.Waits, isOfTool)
	wishes.Waits = append(wishes.Waits, workload.Wait{Call: *call})
	if isKnown {
		return made, w.leaveOut(wishes)
	}
	w.hung = &made
	return made, "with " + call.String() + " at its end, as that has no answer, and behind it what may bring one"
}

// judge takes the session in which a call without an answer comes at the end, and behind it what may bring one.
func (w *waits) judge(wishes *workload.Wishes, made external.Made, offer workload.Offer) (external.Made, string) {
	hung := *w.hung
	w.hung = nil
	wait := &wishes.Waits[len(wishes.Waits)-1]
	by, isAnswered, isAlive := answerer(made.Events, wait.Call)
	isTool := func(tool workload.OfferedTool) bool { return tool.Name == wait.Call.Tool && tool.SaysItWaits }
	switch {
	case isAnswered && by != nil:
		wait.By = by
		return made, "with " + by.String() + " right behind that, which has brought the answer"
	case !isAnswered && isAlive && slices.ContainsFunc(offer.Tools, isTool):
		return made, w.leaveOut(wishes)
	}
	wishes.Waits = wishes.Waits[:len(wishes.Waits)-1]
	return hung, ""
}

// leaveOut has the last of the calls that wait left out of the session.
func (w *waits) leaveOut(wishes *workload.Wishes) string {
	last := &wishes.Waits[len(wishes.Waits)-1]
	last.IsNever = true
	w.say(fmt.Sprintf("not called: %s: it waits for something that none of the calls brings", last.Call))
	return "without that"
}

// firstOpen returns the first call of a tool that has no answer, and is not cancelled; nil: there is none.
func firstOpen(made external.Made) *workload.NamedCall {
	for _, call := range timeline.CallsOf(made.Events).All() {
		if call.Method == mcp.MethodCallTool && !call.Answered() && call.Cancelled == 0 {
			return callIn(made.Events, call.Request)
		}
	}
	return nil
}

// answerer says of the last call like one whether it was answered, and behind which call of a tool that had come since; nil: none
// had. It says, too, whether the server answers anything behind it.
func answerer(events []store.Event, like workload.NamedCall) (by *workload.NamedCall, isAnswered, isAlive bool) {
	calls := timeline.CallsOf(events).All()
	at := -1
	for i, call := range calls {
		if made := callIn(events, call.Request); made != nil && made.Equal(like) {
			at = i
		}
	}
	if at < 0 {
		return nil, false, false
	}
	wait := calls[at]
	for _, call := range calls[at+1:] {
		isAlive = isAlive || call.Answered()
		if wait.Answered() && call.Request < wait.Response && call.Method == mcp.MethodCallTool {
			by = callIn(events, call.Request)
		}
	}
	return by, wait.Answered(), isAlive
}

// callIn returns the call of a tool in an event; nil: that has none.
func callIn(events []store.Event, seq uint64) *workload.NamedCall {
	for _, e := range events {
		if e.Seq != seq || e.Kind != store.Frame {
			continue
		}
		for _, m := range timeline.MessagesOf(transport.Frame{Bytes: e.Payload}) {
			if m.Method == mcp.MethodCallTool {
				name := transport.MemberText(m.Params, "name")
				return &workload.NamedCall{Tool: name, Arguments: json.RawMessage(transport.Member(m.Params, "arguments"))}
			}
		}
	}
	return nil
}
