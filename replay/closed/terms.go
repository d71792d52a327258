package closed

import (
	"strconv"
	"strings"
)

// Term is a word of models, setups and verdicts, with what it means in a phrase.
type Term struct {
	Word  string `json:"word"`
	Means string `json:"means"`
}

// ModelTerms returns the models that [ParseModel] reads, with how a side of each works. The
// notification queue model stands for all its sizes, as notification-queue=Q.
func ModelTerms() []Term {
	return []Term{
		{Independent.String(), "its reader never waits for its writer"},
		{SingleThreaded.String(), "one thread: it sends and receives in the recorded order"},
		{AnswersInline.String(), "its reader writes the answers itself, and meanwhile does not read"},
		{BlockingHandlers.String(), "its reader runs each handler to its end before it reads on: " +
			"what a handler asks the other side for is never answered"},
		{BlockingHandlersExceptTools.String(), "as blocking-handlers, but tools/call runs beside the reader"},
		{"notification-queue=Q", "its reader hands notifications to a queue of Q that nobody reads from during a call"},
	}
}

// Means says in a phrase how a side of the model works, and of an SDK what in its source makes it so.
func (m Model) Means() string {
	switch {
	case m.preset != nil && m.preset.If != "":
		return m.preset.Why + "; if " + m.preset.If
	case m.preset != nil:
		return m.preset.Why
	}
	size, name := strconv.Itoa(m.queue), m.String()
	if m.kind == notificationQueue {
		name = queuePrefix + "Q"
	}
	for _, term := range ModelTerms() {
		if term.Word == name {
			return strings.Replace(term.Means, "queue of Q", "queue of "+size, 1)
		}
	}
	return ""
}

// VerdictTerms returns the other words of a verdict.
func VerdictTerms() []Term {
	return []Term{
		{"proved", "no order of steps goes on from there, for sides of these models"},
		{"buffer", "how many messages the transport holds each way"},
		{"c2s", "client to server"},
		{"s2c", "server to client"},
		{"message", "what is sent at once: a request, an answer, a notification, or a batch of them"},
		{"reader", "the part of a side that reads messages: its receive loop"},
		{"writer", "the part of a side that writes messages; with buffer 0 it waits until the other side reads"},
		{"notification queue", "where a reader puts notifications, inside its side; no buffer of the transport makes it larger"},
		{"pile up", "of notifications: to come during a call, before its answer"},
	}
}
