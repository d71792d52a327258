package timeline

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Call is a request, and what is known of it so far. The Model writes into it as events come.
type Call struct {
	Dir       transport.Direction // the way the request went
	ID        string              // raw JSON
	Method    string
	Target    string // tool or prompt name, resource uri
	Token     string // raw progress token; "" if the request asks for no progress
	Request   uint64 // Seq of the request's frame
	At        time.Duration
	Stream    uint64        // of the request
	Scope     *Scope        // where its id is unique
	Exchange  *Exchange     // over HTTP, where its request is recorded
	Response  uint64        // Seq of the response's frame, or of the HTTP status that answers, such as 404; 0: none
	Latency   time.Duration // of an answered call; of another one see [Endings.Close]
	Failure   string        // as [FailureOf] tells it; "HTTP 404" of a status
	Progress  []uint64      // Seqs of the progress notifications, late ones too; only [Calls] fills the list
	Cancelled uint64        // Seq of the latest cancellation; 0: none
	Untaken   *Untaken      // the latest answer that no client takes as it stands; nil: none, or answered
	Task      *Task         // that the request asks about, or that its answer made; nil: none
	Late      bool          // a message came after the end of the call
	Either    uint64        // Seq of an answer under its id that another open call has, and that may as well be its own; 0: none
	AsksTask  bool          // it asks to be done as a task (2025-11-25)
	Judged    any           // what the rules of package order keep of the call, so that they need no index; the calls of a clone share it

	number  int // among the requests, from 0
	id      mcp.Key
	token   mcp.Key // "" for no progress
	over    bool    // answered, or the refused exchange has ended
	hungUp  bool    // its client cancelled it by hanging up
	refused bool    // by an HTTP status, or lost; only a message of the same exchange can be the answer
	evicted bool    // others ended after it, as many as are remembered
}

// NewCall returns the call of a request in a frame.
func NewCall(frame store.Event, request *transport.Message) *Call {
	token := request.ProgressToken()
	return &Call{
		Dir: frame.Dir, ID: string(request.ID), Method: strings.Clone(request.Method), Target: strings.Clone(TargetOf(*request)), Token: string(token),
		Request: frame.Seq, At: frame.At, Stream: frame.Stream, id: mcp.KeyOf(request.ID), token: mcp.KeyOf(token),
		AsksTask: bytes.Contains(request.Params, []byte(`"task"`)) && transport.Member(request.Params, "task") != nil,
	}
}

// AnswerWith notes the response.
func (c *Call) AnswerWith(at Moment, response *transport.Message) {
	c.Response = at.Seq
	c.Latency = at.At - c.At
	c.Failure = FailureOf(response, c.Method == mcp.MethodCallTool)
}

// Number returns how many requests of the session came before, of both directions.
func (c *Call) Number() int { return c.number }

// Key returns the value of the id.
func (c *Call) Key() mcp.Key { return c.id }

// TokenKey returns the value of the progress token; "" if the request asks for no progress.
func (c *Call) TokenKey() mcp.Key { return c.token }

// Answered reports whether the recording has a response.
func (c *Call) Answered() bool { return c.Response != 0 }

// Calls keeps every call of a session. The zero Calls is ready.
type Calls struct{ calls []*Call }

// CallsOf reads the calls of a session. It knows late messages about any call.
func CallsOf(events []store.Event) *Calls {
	calls := &Calls{}
	model := NewModel(All)
	for _, e := range events {
		_ = calls.Take(model.Take(e)) // it never fails
	}
	return calls
}

// Take takes the next step.
func (c *Calls) Take(step Step) error {
	for i := range step.Messages {
		switch m := &step.Messages[i]; m.Role {
		case Asks:
			c.calls = append(c.calls, m.Call)
		case Reports:
			m.Call.Progress = append(m.Call.Progress, step.Seq)
		}
	}
	return nil
}

// All returns the calls in the order of their requests.
func (c *Calls) All() []*Call { return c.calls }

// Unanswered returns the calls without a response so far. Some are normal at the end of a
// session, and a request that opens a stream may never have a response.
func (c *Calls) Unanswered() []*Call {
	return slices.DeleteFunc(slices.Clone(c.calls), (*Call).Answered)
}

// isOpen reports whether a message of any exchange may answer the call.
func (c *Call) isOpen() bool { return !c.over && !c.refused }

// Role is how a message belongs to a call.
type Role uint8

const (
	Unlinked          Role = iota // the message belongs to no call
	Asks                          // the request
	Answers                       // the response
	AnswersAgain                  // a response after the response
	AnswersNotice                 // a response to a notification, which has none
	AnswersUnreadable             // an error about bytes, or a message, whose id could not be read
	Reports                       // progress
	Cancels                       // a cancellation of the open call
	CancelsPast                   // a cancellation after the response
)
