package probe

import (
	"fmt"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Options say what to try.
type Options struct {
	// Notifications is how many the probe sends before an answer; if the peer still gets the answer, the
	// report says that there is no limit. 0 is 256.
	Notifications int
	// Answers are results as JSON, by method, for the requests of a client. They come on top of the
	// probe's own answers, or replace them.
	Answers map[string]string
	// Call is a tool that may be called, once in each experiment that needs a call: the probe of a
	// server calls no other. "" is none.
	Call string
	// Arguments are those of Call, a JSON object; "" is {}.
	Arguments string
}

// Refusal is the error of a peer that cannot be probed at all.
type Refusal struct{ why string }

// Error says why.
func (r *Refusal) Error() string { return r.why }

func (o Options) notifications() int {
	if o.Notifications > 0 {
		return o.Notifications
	}
	return 256
}

// burstSize is how many requests are sent in one go to see the order of their answers.
const burstSize = 8

// The questions. [stimuli] has those about what a peer lives with.
var (
	asksAsking    = Question{"asking", "reads while its own request waits to be taken"}
	asksAnswering = Question{"answering", "reads while its answers wait to be taken"}
	asksHandling  = Question{"handling", "reads the answer that its handler waits for"}
	asksStanding  = Question{"standing", "notifications that can stand before an answer to it"}
	asksOrder     = Question{"order", "order of its answers to a burst"}
	asksBeside    = Question{"beside", "answers other requests while it handles a call"}
	asksBefore    = Question{"before", "notifications that can stand before a request to it"}
)

// stimulus is a frame that a peer must live with.
type stimulus struct {
	Question
	frame transport.Frame
}

const unknownMethod = "unknown-method"

// stimuli are what every peer must live with: it goes on, and answers a request.
func stimuli() []stimulus {
	return []stimulus{
		{Question{unknownMethod, "a request of an unknown method"}, text(`{"jsonrpc":"2.0","id":"unknown","method":"mcprec/unknown"}`)},
		{Question{"unknown-notification", "an unknown notification"}, notification("notifications/mcprec/unknown", "")},
		{Question{"unknown-cancelled", "the cancellation of an unknown request"}, notification(mcp.NotificationCancelled, `{"requestId":"never-sent"}`)},
		{Question{"unknown-progress", "progress of an unknown token"}, notification(mcp.NotificationProgress, `{"progressToken":"never-given","progress":1}`)},
		{Question{"unknown-answer", "an answer to an unknown request"}, text(`{"jsonrpc":"2.0","id":"never-asked","result":{}}`)},
		{Question{"not-json", "a line that is not JSON"}, text(`this is no JSON`)},
	}
}

// stimulate sends a stimulus, and says whether the peer lives with it. isAlive tests the peer afterwards.
// duty names what a peer that fails the test no longer does, such as "answer ping".
func stimulate(t *talk, s stimulus, duty string, isAlive func() bool) (answer, detail string) {
	t.Send(s.frame)
	t.rest()
	lives := !t.stand.Over && isAlive()
	reply := ""
	if m, replied := t.replies["unknown"]; replied && m.Error == nil {
		reply = "it answered with a result"
	} else if !replied && s.Key == unknownMethod {
		reply = "it did not answer"
	}
	switch {
	case lives:
		return "lives", reply
	case t.stand.Over:
		return "ends", t.stand.Ended
	}
	return "stands", fmt.Sprintf("it does not %s any more%s", duty, unsure(t))
}

// unsure says in parentheses what else could have moved a peer at rest, or how a peer has ended.
func unsure(t *talk) string {
	switch {
	case t.stand.Over && t.stand.Ended != "":
		return " (it has ended: " + t.stand.Ended + ")"
	case t.stand.Over:
		return " (it has ended)"
	case t.stand.Unsure != "":
		return " (" + t.stand.Unsure + ")"
	}
	return ""
}
