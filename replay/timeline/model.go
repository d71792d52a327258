package timeline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/framing"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Model is a session as far as it has been read. [NewModel] makes it. It is not safe for concurrent use.
type Model struct {
	requests  requests
	asked     int // requests so far
	exchanges map[uint64]*Exchange
	scopes    scopes
	exit      Exit
	last      Moment // the latest event

	onPipe     [2]unanswerable // of each direction
	onEndpoint map[*Scope]*unanswerable
	misplaced  []misplaced
	tasks      map[taskKey]*Task // that are not over; nil: none yet
	pastTasks  pastTasks
	pipes      pipes
	protocol   transport.Protocol
	mask       Mask

	parsed   []transport.Message // of the present frame
	messages []Message
}

// Remembered is how many calls a Model usually remembers after their end, to know a second answer,
// late progress and a late cancellation.
const Remembered = 64

// All makes [NewModel] remember every call.
const All = -1

// NewModel returns the model of a session without events. It remembers a number of past calls, the latest.
func NewModel(remember int) *Model {
	scopes := newScopes()
	return &Model{requests: newRequests(remember, scopes.shared), exchanges: map[uint64]*Exchange{}, scopes: scopes, onEndpoint: map[*Scope]*unanswerable{}}
}

// Step is one event with its place in the session.
type Step struct {
	store.Event
	// Messages are those of a frame. The slice is good until the next Take.
	Messages []Message
	// Noise is set for a frame without a message, such as a stray log line.
	Noise bool
	// Part is set for Noise that may be a part of messages in another form than a line each.
	Part bool
	// Misframed is set for a frame that ends messages in another form than a line each.
	Misframed *Misframed
	// Batch is set for a frame of any number of messages in brackets.
	Batch bool
	// Unended is set for the beginning of a body of HTTP, or of a server-sent event, whose end has not come: its
	// receiver has no message. If it is a request, Messages has its messages all the same.
	Unended bool
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
	// Refused are the calls that an HTTP status answers, in the order of their requests: the status of this event,
	// or that of a response that came before this body of its request.
	Refused []*Call
	// Cancelled are the calls that the client cancelled by hanging up, as it does from 2026-07-28 on.
	Cancelled []*Call
	// Undone are the calls that a frame of the client had answered or cancelled, and which are as they were
	// before: HTTP refused the frame.
	Undone []*Call
	// Told are the tasks whose status the messages tell, in their order, also of tasks that are over.
	Told []*Task
	// Exit is the end of the server's process so far. It is good until the next Take.
	Exit *Exit

	model *Model
}

// Message is a message with its place in the session.
type Message struct {
	transport.Message
	Kind transport.MessageKind
	Call *Call // that the message begins, answers, reports on or cancels; nil: none
	Role Role  // how the message belongs to the Call
	Late bool  // an answer after the call was answered or cancelled, or progress after it was answered

	Retyped   bool  // the id or the token is the call's but for its type: "7" where the call has 7
	Strays    bool  // an answer in the HTTP exchange of another request
	Equals    int   // of an answer: how many open calls with its id it may belong to as well as to the Call
	Exchanged *Call // of an answer: the call whose answer was exchanged with it, and came before
	Notice    Sent  // the notification that a response without an id answers
	Task      *Task // that the message makes, asks about or tells of; nil: none, or one that was over before
	PastTask  *Task // that was over before the message asks about it, or tells of it; nil: none that is remembered

	// SameID and SameToken are, of a request, the calls of its sender with the same id and with the same progress
	// token: of several the latest that is open, else the latest that is over and remembered; nil: none.
	SameID, SameToken *Call
	// Subscription is the call of subscriptions/listen that a notification is of, or that a server cancels, open or
	// over; nil: none that is remembered.
	Subscription *Call

	mask Mask
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
	if e.Kind == store.Frame && !isJSON {
		e = m.mask.Event(e)
	}
	step := Step{Event: e, Exit: &m.exit, model: m}
	m.exit.take(&step, m.last, isJSON)
	m.last = step.Moment()
	switch e.Kind {
	case store.Frame:
		messages = m.readFrame(&step, messages, isJSON)
		m.takeFrame(&step, messages)
	case store.HTTP:
		m.takeHTTP(&step)
	}
	return step
}

func (m *Model) takeFrame(step *Step, messages []transport.Message) {
	step.Exchange = m.exchanges[step.Stream]
	step.Scope = m.scopes.of(step.Stream, step.Exchange)
	if step.Noise {
		messages = nil
	}
	if step.Stream != 0 && m.takeBody(step, messages) {
		step.Unended = true
		step.Noise = false
		return
	}
	if step.Noise {
		m.noteSent(step, nil)
		return
	}
	step.Batch = transport.Frame{Bytes: step.MessageBytes(), Stream: step.Stream}.IsBatch()
	if step.Misframed != nil { // a reader of lines cannot read it
		step.Batch = step.Batch && step.Misframed.Form != framing.SeveralInLine
		m.noteSent(step, nil)
	}
	m.messages = m.messages[:0]
	if step.Batch && len(messages) == 0 {
		m.noteSent(step, nil)
	}
	for i := range messages {
		m.messages = append(m.messages, m.link(step, &messages[i]))
	}
	step.Messages = m.messages
	if x := step.Exchange; x != nil && x.IsRefused() && step.Dir == transport.ClientToServer { // before the body came
		m.refuse(step, x.Status)
	}
	isMessage := func(m Message) bool { return m.Kind != transport.Invalid }
	if x := step.Exchange; x != nil && step.Dir == transport.ServerToClient && !x.IsStream() && !slices.ContainsFunc(step.Messages, isMessage) {
		text := m.mask.Of(step.Payload)
		x.Response.Text = append(x.Response.Text[:0], text[:min(excerptLimit, len(text))]...)
	}
}

// link finds the call of a message.
func (m *Model) link(step *Step, message *transport.Message) (linked Message) {
	linked = Message{Message: *message, Kind: message.Kind(), mask: m.mask}
	switch linked.Kind {
	case transport.Request:
		m.request(step, &linked)
	case transport.Response:
		m.response(step, &linked)
	case transport.Notification:
		m.noteSent(step, &linked)
		m.notification(step, &linked)
	case transport.Invalid:
		m.noteSent(step, &linked)
	}
	if linked.Late {
		linked.Call.Late = true
	}
	m.linkTask(step, &linked)
	return linked
}

// Protocol returns the protocol of the session, as far as its messages have told.
func (m *Model) Protocol() transport.Protocol { return m.protocol }

func (m *Model) request(step *Step, asked *Message) {
	message := &asked.Message
	if m.protocol == "" {
		m.protocol = transport.ProtocolOf(*message)
	}
	call := NewCall(step.Event, message)
	if call.Target != "" && m.mask.hides(call.Method) {
		call.Target = strings.Clone(TargetOf(m.mask.Message(message)))
	}
	call.Scope = step.Scope
	call.Exchange = step.Exchange
	call.number = m.asked
	m.asked++
	asked.SameID, asked.SameToken = m.requests.ask(call)
	asked.Call = call
	asked.Role = Asks
}

func (m *Model) response(step *Step, answer *Message) {
	if step.IsRefused() {
		return
	}
	dir := step.Dir.Reverse()
	id := mcp.KeyOf(answer.ID)
	open := m.requests.candidates(step.Scope, dir, step.Stream, id)
	if len(open) == 0 {
		if call := m.requests.past(step.Scope, dir, step.Stream, id); call != nil {
			answer.Call = call
			answer.Role = AnswersAgain
			answer.Late = true
			return
		}
		open = m.requests.candidates(step.Scope, dir, step.Stream, id.Retyped())
		answer.Retyped = len(open) > 0
	}
	switch call, equals := choose(open, &answer.Message); {
	case call != nil:
		m.answer(step, answer, call, equals)
	case len(answer.ID) == 0 || string(answer.ID) == "null":
		m.reply(step, answer)
	}
}

// answer ends a call. equals are it and the other open calls that the answer may belong to.
func (m *Model) answer(step *Step, answer *Message, call *Call, equals callList) {
	for _, other := range equals {
		if other != call {
			other.Either = step.Seq
		}
	}
	answer.Equals = len(equals) - 1
	m.requests.over(call)
	if answer.Error == nil || m.mask == nil {
		call.AnswerWith(step.Moment(), &answer.Message)
	} else {
		shown := answer.Shown()
		call.AnswerWith(step.Moment(), &shown)
	}
	call.Untaken = nil
	step.note(effect{call: call, answered: true})
	answer.Call = call
	answer.Role = Answers
	answer.Late = 0 < call.Cancelled && call.Cancelled < step.Seq
	answer.Strays = call.Exchange != nil && step.Exchange != nil && call.Stream != step.Stream && len(step.Exchange.calls) > 0 && step.Scope.Endpoint == ""
	answer.Exchanged = m.exchangedWith(step, answer)
	m.handled(step, call)
}

func (m *Model) notification(step *Step, notice *Message) {
	switch notice.Method {
	case mcp.NotificationProgress:
		token := notice.ProgressToken()
		if len(token) == 0 {
			return
		}
		key := mcp.KeyOf(token)
		call := m.requests.progress(step.Scope, step.Dir.Reverse(), step.Stream, key)
		if call == nil {
			call = m.requests.progress(step.Scope, step.Dir.Reverse(), step.Stream, key.Retyped())
			notice.Retyped = call != nil
		}
		if call != nil {
			notice.Call = call
			notice.Role = Reports
			notice.Late = 0 < call.Response && call.Response < step.Seq
		}
	case mcp.NotificationCancelled:
		raw := CancelledID(notice.Message)
		if raw == nil || step.IsRefused() {
			return
		}
		m.cancellation(step, notice, mcp.KeyOf(raw))
		if step.Dir == transport.ServerToClient {
			notice.Subscription = m.subscription(step, raw)
		}
	default:
		if bytes.Contains(notice.Params, []byte(mcp.MetaSubscriptionID)) { // which most do not, and looking is cheap
			notice.Subscription = m.subscription(step, transport.Member(notice.Params, mcp.MemberMeta, mcp.MetaSubscriptionID))
		}
	}
}

// subscription returns the call of subscriptions/listen with an id.
func (m *Model) subscription(step *Step, id json.RawMessage) *Call {
	key := mcp.KeyOf(id)
	call := m.requests.answered(step.Scope, transport.ClientToServer, step.Stream, key)
	if call == nil {
		call = m.requests.past(step.Scope, transport.ClientToServer, step.Stream, key)
	}
	if call == nil || call.Method != mcp.MethodListen {
		return nil
	}
	return call
}

func (m *Model) cancellation(step *Step, notice *Message, id mcp.Key) {
	for _, named := range []mcp.Key{id, id.Retyped()} {
		if call := m.requests.cancelled(step.Scope, step.Dir, named); call != nil {
			step.note(effect{call: call, before: call.Cancelled})
			call.Cancelled = step.Seq
			notice.Call = call
			notice.Role = Cancels
		} else if call := m.requests.past(step.Scope, step.Dir, 0, named); call != nil {
			notice.Call = call
			notice.Role = CancelsPast
		}
		if notice.Call != nil {
			notice.Retyped = named != id
			return
		}
	}
}

// Lose takes back what a frame did that was lost on its way, as in an HTTP exchange that broke: its sender may
// send it again. A request is not open any more, unless a message of its exchange answers it; a call that the
// frame answered is open again.
func (m *Model) Lose(messages []Message) {
	for i := range messages {
		switch lost := &messages[i]; {
		case lost.Role == Asks && lost.Call.isOpen():
			lost.Call.refused = true
			m.requests.keep(lost.Call)
		case lost.Role == Answers && lost.Call.over:
			m.requests.reopen(lost.Call)
		case lost.Role == Cancels:
			lost.Call.Cancelled = 0
		}
	}
}

// Protocol returns the protocol of the session, as far as its messages have told.
func (s Step) Protocol() transport.Protocol { return s.model.protocol }

// Message returns message number i of the frame; the zero Message if the Model read fewer.
func (s Step) Message(i int) Message {
	if i < len(s.Messages) {
		return s.Messages[i]
	}
	return Message{}
}

// Find returns the call, sent in direction dir, that a response with this id in this step would answer.
func (s Step) Find(dir transport.Direction, id mcp.Key) *Call {
	return s.model.requests.answered(s.Scope, dir, s.Stream, id)
}

// Open returns the open calls that went in a direction, in the order of their requests. A cancelled call is open
// until it is answered.
func (m *Model) Open(dir transport.Direction) []*Call {
	var open callList
	for named, list := range m.requests.ids {
		if named.scope != nil && named.dir == dir {
			open = append(open, list.that((*Call).isOpen)...)
		}
	}
	slices.SortFunc(open, func(a, b *Call) int { return a.number - b.number })
	return open
}

// OpenCalls returns the open calls of the step's HTTP exchange, in no order.
func (s Step) OpenCalls() []*Call { return s.model.requests.openOn(s.Stream) }

// ToolError is the failure of a tool's result with isError.
const ToolError = "tool error"

// FailureOf returns the failure that a response reports; "" for a success. ofTool: the response may be of
// a tool.
func FailureOf(answer *transport.Message, ofTool bool) string {
	if answer.Error != nil {
		return "error " + errorWords(answer.Error)
	}
	if ofTool && string(transport.Member(answer.Result, mcp.MemberIsError)) == "true" {
		return ToolError
	}
	return ""
}

// errorWords returns the code and the message of a JSON-RPC error, or what stands in its place.
func errorWords(fault json.RawMessage) string {
	code := string(transport.Member(fault, "code"))
	if named, isText := transport.Text([]byte(code)); isText {
		code = named
	}
	words := transport.MemberText(fault, "message")
	if said, isText := transport.Text(fault); isText { // the error is a text
		words = said
	}
	return cmp.Or(strings.TrimSpace(code+" "+phrase.Name(words)), "without a code")
}
