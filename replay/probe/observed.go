package probe

import "github.com/mcprec/mcprec/replay/closed"

// Answer is the answer to a question about a peer.
type Answer int

// The answers.
const (
	Unknown Answer = iota // not measured
	Yes
	No
)

// Observed is what the experiments have shown of a peer.
type Observed struct {
	// Asking: the peer reads while a request or notification of its own waits to be taken.
	Asking Answer
	// Answering: the peer reads while an answer of its own waits to be taken.
	Answering Answer
	// Handling: the peer reads the answer that its handler waits for.
	Handling Answer
	// ToolsBeside: a server reads on while it handles tools/call.
	ToolsBeside Answer
	// Standing: the peer gets the answer to its own call, however many notifications come before it.
	Standing Answer
	// Idle: a peer that waits for nothing answers a request, however many notifications come before it.
	Idle Answer
	// Stands is how many notifications can come before the answer, if Standing is No.
	Stands int
}

// Models returns every model of which a property was observed, and none if too little was observed. The
// first is the one that hangs the soonest: a call of the peer hangs by a queue of notifications or by a
// handler, before anything must wait to be taken. Free is returned only alone.
func (o Observed) Models() (models []closed.Model) {
	if o.Standing == No {
		models = append(models, closed.NotificationQueue(o.Stands))
	}
	switch {
	case o.Handling == No && o.ToolsBeside == Yes:
		models = append(models, closed.BlockingHandlersExceptTools)
	case o.Handling == No:
		models = append(models, closed.BlockingHandlers)
	}
	switch {
	case o.Asking == No:
		models = append(models, closed.SingleThreaded)
	case o.Answering == No && o.Handling != No: // blocking and single-threaded ends write their answers so, too
		models = append(models, closed.AnswersInline)
	}
	if len(models) == 0 && o.Answering == Yes && o.Idle != No { // no model stops reading while it waits for nothing
		models = append(models, closed.Independent)
	}
	return models
}
