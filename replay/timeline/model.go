package timeline

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Model is a session as far as it has been read. [NewModel] makes it. It is not safe for concurrent use.
type Model struct {
	requests  requests
	asked     int // requests so far
	exchanges map[uint64]*Exchange
	scopes    scopes

	parsed   []transport.Message // of the present frame
	messages []Message
}

// Remembered is how many calls a Model usually remembers after their end, to know a second answer,
// late progress and a late cancellation.
const Remembered = 64

// NewModel returns the model of a session without events. It remembers a number of past calls, the latest.
func NewModel(remember int) *Model {
	scopes := newScopes()
	return &Model{requests: newRequests(remember, scopes.shared), exchanges: map[uint64]*Exchange{}, scopes: scopes}
}

// Step is one event with its place in the session.
type Step struct {
	store.Event
	// Messages are those of a frame. The slice is good until the next Take.
	Messages []Message
	// Noise is set for a frame that is not JSON, such as a stray log line.
	Noise bool
	// Batch is set for a frame of any number of messages in brackets.
	Batch bool
	// HTTP is the payload of an HTTP event that can be read.
	HTTP *store.HTTPInfo
	// Exchange is the HTTP exchange of the event; nil on a pipe, and where its request is not recorded.
	Exchange *Exchange
	// Scope is where the ids of the messages are unique.
	Scope *Scope
	// Left are the open calls of an exchange that ends with this event. Another exchange may answer them.
	Left []*Call
	// Over are the refused calls of an exchange that ends with this event. No message can answer them any more.
	Over []*Call
	// Refused are the calls that the status of this HTTP event answers, in the order of their requests.
	Refused []*Call

	model *Model
}

// Message is a message with its place in the session.
type Message struct {
	transport.Message
	Kind transport.MessageKind
	Call *Call // that the message begins, answers, reports on or cancels; nil: none
	Role Role  // how the message belongs to the Call
	Late bool  // an answer after the call was answered or cancelled, or progress after it was answered
}

// Take takes the next event and says what it means.
func (m *Model) Take(e store.Event) Step {
	var err error
	if e.Kind == store.Frame {
		m.parsed, err = e.AsFrame().AppendMessages(m.parsed[:0])
	}
	return m.TakeParsed(e, m.parsed, err == nil)
}

// TakeParsed is Take of an event whose frame the caller has parsed. isJSON is false for a frame that is
// not JSON.
func (m *Model) TakeParsed(e store.Event, messages []transport.Message, isJSON bool) Step {
	step := Step{Event: e, model: m}
	switch e.Kind {
	case store.Frame:
		if step.Noise = !isJSON; isJSON {
			m.takeFrame(&step, messages)
		}
	case store.HTTP:
		m.takeHTTP(&step)
	}
	return step
}

func (m *Model) takeFrame(step *Step, messages []transport.Message) {
	step.Batch = step.AsFrame().IsBatch()
	step.Exchange = m.exchanges[step.Stream]
	step.Scope = m.scopes.of(step.Stream, step.Exchange)
	m.messages = m.messages[:0]
	for i := range messages {
		m.messages = append(m.messages, m.link(step, &messages[i]))
	}
	step.Messages = m.messages
}

// link finds the call of a message.
func (m *Model) link(step *Step, message *transport.Message) (linked Message) {
	linked = Message{Message: *message, Kind: message.Kind()}
	switch linked.Kind {
	case transport.Request:
		linked.Call = m.request(step, message)
		linked.Role = Asks
	case transport.Response:
		m.response(step, &linked)
	case transport.Notification:
		m.notification(step, &linked)
	}
	if linked.Late {
		linked.Call.Late = true
	}
	return linked
}

func (m *Model) request(step *Step, message *transport.Message) *Call {
	call := NewCall(step.Event, message)
	call.Scope = step.Scope
	call.Exchange = step.Exchange
	call.number = m.asked
	m.asked++
	m.requests.ask(call)
	return call
}

func (m *Model) response(step *Step, answer *Message) {
	dir := step.Dir.Reverse()
	id := mcp.KeyOf(answer.ID)
	if call := m.requests.answered(step.Scope, dir, step.Stream, id); call != nil {
		m.requests.over(call)
		call.AnswerWith(step.Event, &answer.Message)
		answer.Call = call
		answer.Role = Answers
		answer.Late = 0 < call.Cancelled && call.Cancelled < step.Seq
		return
	}
	if call := m.requests.past(step.Scope, dir, step.Stream, id); call != nil {
		answer.Call = call
		answer.Role = AnswersAgain
		answer.Late = true
	}
}

func (m *Model) notification(step *Step, notice *Message) {
	switch notice.Method {
	case mcp.NotificationProgress:
		token := notice.ProgressToken()
		if len(token) == 0 {
			return
		}
		if call := m.requests.progress(step.Scope, step.Dir.Reverse(), step.Stream, mcp.KeyOf(token)); call != nil {
			notice.Call = call
			notice.Role = Reports
			notice.Late = 0 < call.Response && call.Response < step.Seq
		}
	case mcp.NotificationCancelled:
		raw := CancelledID(notice.Message)
		if raw == nil {
			return
		}
		id := mcp.KeyOf(raw)
		if call := m.requests.cancelled(step.Scope, step.Dir, id); call != nil {
			call.Cancelled = step.Seq
			notice.Call = call
			notice.Role = Cancels
		} else if call := m.requests.past(step.Scope, step.Dir, 0, id); call != nil {
			notice.Call = call
			notice.Role = CancelsPast
		}
	}
}

// Find returns the call, sent in direction dir, that a response with this id in this step would answer.
func (s Step) Find(dir transport.Direction, id mcp.Key) *Call {
	return s.model.requests.answered(s.Scope, dir, s.Stream, id)
}

// OpenCalls returns the open calls of the step's HTTP exchange, in no order.
func (s Step) OpenCalls() []*Call { return s.model.requests.openOn(s.Stream) }

// WithToken returns the latest open call of a direction with a progress token, in whatever scope, or nil.
func (m *Model) WithToken(dir transport.Direction, token mcp.Key) *Call {
	named := local{dir, token}
	if call := m.requests.tokens[scoped{m.scopes.pipe, named}].latestOpen(); call != nil {
		return call
	}
	return m.requests.tokens[scoped{nil, named}].latestOpen()
}

// ToolError is the failure of a tool's result with isError.
const ToolError = "tool error"

// FailureOf returns the failure that a response reports; "" for a success. ofTool: the response may be of
// a tool.
func FailureOf(answer *transport.Message, ofTool bool) string {
	if answer.Error != nil {
		var e struct {
			Code    json.Number `json:"code"`
			Message string      `json:"message"`
		}
		// A member of another type is left out: the raw event has the bytes.
		_ = json.Unmarshal(answer.Error, &e)
		return strings.TrimSpace(fmt.Sprintf("error %s %s", e.Code, phrase.Name(e.Message)))
	}
	if ofTool && string(transport.Member(answer.Result, mcp.MemberIsError)) == "true" {
		return ToolError
	}
	return ""
}
