package timeline

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// fit says whether a response may be the answer to a call, by the members of its result.
type fit int8

const (
	misfit  fit = iota - 1 // it has none of the members that such a result has
	unknown                // an error, or a method whose results may have any members
	fits
)

// fitOf compares a response with the results of a method.
func fitOf(method string, answer *transport.Message) fit {
	if answer.Error != nil || len(answer.Result) == 0 || answer.Result[0] != '{' {
		return unknown
	}
	has := func(name string) bool { return transport.Member(answer.Result, name) != nil }
	switch members := mcp.ResultMembers(method); {
	case slices.ContainsFunc(members, has):
		return fits
	case has("task") || has(mcp.MemberResultType): // of a call that goes on, and of any method
		return unknown
	case members != nil:
		return misfit
	case !slices.Contains(mcp.Methods(), method) || method == mcp.MethodTaskResult:
		return unknown
	case len(methodsOf(answer)) > 0: // and this method's results have no members
		return misfit
	}
	return unknown
}

// methodsOf returns the methods that have such a result.
func methodsOf(answer *transport.Message) (methods []string) {
	for _, method := range mcp.Methods() {
		if len(mcp.ResultMembers(method)) > 0 && fitOf(method, answer) == fits {
			methods = append(methods, method)
		}
	}
	return methods
}

// choose returns the call of several with one id that a response belongs to: the first of those that it
// fits best. It returns these as well.
func choose(open callList, answer *transport.Message) (call *Call, equals callList) {
	if len(open) < 2 {
		return open.firstOf(), open
	}
	best := misfit
	for _, c := range open {
		best = max(best, fitOf(c.Method, answer))
	}
	equals = open.that(func(c *Call) bool { return fitOf(c.Method, answer) == best })
	return equals[0], equals
}

func (list callList) firstOf() *Call {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// misplaced is an answer that went to a call and looks like the answer to another one.
type misplaced struct {
	call    *Call
	stream  uint64   // that it came on
	strays  bool     // that is the exchange of another request
	methods []string // that have such results
}

// keptMisplaced is how many answers a Model remembers to find two that are exchanged.
const keptMisplaced = 16

// exchangedWith returns the call whose answer was exchanged with that of an answered call, in their results
// or in their HTTP exchanges; nil if there is none. It remembers the answer for the other one.
func (m *Model) exchangedWith(step *Step, answer *Message) *Call {
	is := misplaced{call: answer.Call, stream: step.Stream, strays: answer.Strays}
	names := func(member string) bool { return bytes.Contains(answer.Result, []byte(member)) } // which most do, and looking is cheap
	if members := mcp.ResultMembers(is.call.Method); members != nil && !slices.ContainsFunc(members, names) && fitOf(is.call.Method, &answer.Message) == misfit {
		is.methods = methodsOf(&answer.Message)
	}
	if !is.strays && is.methods == nil {
		return nil
	}
	i := slices.IndexFunc(m.misplaced, func(other misplaced) bool {
		crossed := is.strays && other.strays && is.stream == other.call.Stream && other.stream == is.call.Stream
		swapped := slices.Contains(is.methods, other.call.Method) && slices.Contains(other.methods, is.call.Method)
		return other.call.Dir == is.call.Dir && other.call.Scope == is.call.Scope && (crossed || swapped)
	})
	if i >= 0 {
		other := m.misplaced[i].call
		m.misplaced = slices.Delete(m.misplaced, i, i+1)
		return other
	}
	if len(m.misplaced) == keptMisplaced {
		m.misplaced = slices.Delete(m.misplaced, 0, 1)
	}
	m.misplaced = append(m.misplaced, is)
	return nil
}

// Sent is a message that stands in the log.
type Sent struct {
	Seq    uint64
	Method string
}

// unanswerable is what one end sent of late that has no answer under an id of its own.
type unanswerable struct {
	notice     Sent // the latest notification; Seq 0: none, or it was answered
	unreadable int  // frames and messages whose id cannot be read: an error without an id may answer each
}

// unanswerableOf returns what the sender of a direction sent at the place of a step: on a pipe, to an endpoint
// of HTTP+SSE, or in its exchange. It is nil where the Model does not follow that.
func (m *Model) unanswerableOf(step *Step, dir transport.Direction) *unanswerable {
	switch {
	case dir != transport.ClientToServer && dir != transport.ServerToClient:
	case step.Stream == 0:
		return &m.onPipe[dir-transport.ClientToServer]
	case step.Exchange == nil || dir != transport.ClientToServer: // the client's responses have exchanges of their own
	case step.Scope.Endpoint != "":
		return m.ofEndpoint(step.Scope)
	default:
		return &step.Exchange.sent
	}
	return nil
}

// ofEndpoint returns what the client sent to an endpoint of HTTP+SSE.
func (m *Model) ofEndpoint(scope *Scope) *unanswerable {
	if m.onEndpoint[scope] == nil {
		m.onEndpoint[scope] = &unanswerable{}
	}
	return m.onEndpoint[scope]
}

// noteSent notes what has no answer under an id of its own; message nil: of bytes that are no message.
func (m *Model) noteSent(step *Step, message *Message) {
	sent := m.unanswerableOf(step, step.Dir)
	switch {
	case sent == nil:
	case message == nil || message.Kind == transport.Invalid:
		sent.unreadable++
	case message.Kind == transport.Notification:
		sent.notice = Sent{step.Seq, message.Method}
	}
}

// The codes of JSON-RPC for a request whose id could not be read.
const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
)

// reply finds what a response without an id, or with the id null, answers: an error may be about a message
// that could not be read; any other response comes after the notification that it answers.
func (m *Model) reply(step *Step, answer *Message) {
	sent := m.unanswerableOf(step, step.Dir.Reverse())
	if sent == nil {
		return
	}
	code, _ := strconv.Atoi(string(transport.Member(answer.Error, "code")))
	isOpen := func(isOne func(*Call) bool) bool {
		return m.requests.isAnyOpen(step.Scope, step.Dir.Reverse(), isOne)
	}
	switch {
	case answer.Error != nil && sent.unreadable > 0:
		sent.unreadable--
		answer.Role = AnswersUnreadable
	case code == codeParseError, code == codeInvalidRequest && isOpen(func(*Call) bool { return true }):
		answer.Role = AnswersUnreadable
	case isOpen(func(c *Call) bool { return fitOf(c.Method, &answer.Message) == fits }): // it is that one's, under no id
	case sent.notice.Seq != 0:
		answer.Role = AnswersNotice
		answer.Notice = sent.notice
		sent.notice = Sent{}
	}
}

// handled notes that an end has come past a notification: it answers a later request.
func (m *Model) handled(step *Step, call *Call) {
	sent := m.unanswerableOf(step, step.Dir.Reverse())
	if sent != nil && sent.notice.Seq < call.Request {
		sent.notice = Sent{}
	}
}
