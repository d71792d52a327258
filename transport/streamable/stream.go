package streamable

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// httpStream is what the server says in answer to one request, or, of number 0,
// outside of all. It decides and does no I/O: whoever follows it asks for the next
// step. A stream that has ids outlives the connection it was begun on.
type httpStream struct {
	number uint64
	answer Answer
	form   AnswerForm
	asks   map[mcp.Key]bool // ids of requests without a response
	begins bool             // its request is initialize
	oneWay bool             // what answers it goes elsewhere
	faulty bool             // its request is no message

	events    [][]byte // the data of each; nil: of the primer
	sent      int      // of them, by any follower
	followers int
	newest    int  // of them, the one that is fed: a message goes out once
	after     int  // messages since the last response
	plain     bool // it is to be responded to without messages
	over      bool // nothing more comes
	changed   chan struct{}
}

func newStream(number uint64) *httpStream {
	return &httpStream{number: number, asks: map[mcp.Key]bool{}, changed: make(chan struct{})}
}

// wake tells all who wait that something is different.
func (s *httpStream) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// ask notes the requests of a frame, whose ids must come back.
func (s *httpStream) ask(f transport.Frame) {
	messages, err := f.Messages()
	s.faulty = err != nil
	for _, m := range messages {
		if m.Kind() == transport.Request {
			s.asks[mcp.KeyOf(m.ID)] = true
			s.begins = s.begins || m.Method == "initialize"
		}
	}
}

// tell is told how the recorded server responded.
func (s *httpStream) tell(a Answer) {
	s.answer = a
	s.over = s.over || a.None
	if s.form == AnyForm && !a.Plain && !a.None && !s.oneWay {
		s.take(a.Form)
	}
	s.wake()
}

// take settles the form.
func (s *httpStream) take(form AnswerForm) {
	s.form = form
	if form == StreamForm && s.answer.Primed {
		s.events = append(s.events, nil)
	}
}

// settle is told that the request was read and that nothing was said at once. What
// asks for nothing is responded to.
func (s *httpStream) settle() {
	if len(s.events) > 0 && !s.answer.Plain {
		return
	}
	if s.answer.Plain || s.oneWay || len(s.asks) == 0 && s.form == AnyForm {
		s.plain, s.over = true, true
		s.wake()
	}
}

// takes reports whether a frame may go out on this stream.
func (s *httpStream) takes(f transport.Frame) bool {
	return !s.over && !s.oneWay && (s.form != JSONForm || s.completes(f))
}

// completes reports whether the frame answers all that is asked.
func (s *httpStream) completes(f transport.Frame) bool {
	left := len(s.asks)
	messages, _ := f.Messages()
	for _, m := range messages {
		if m.Kind() != transport.Response {
			return false
		}
		if s.asks[mcp.KeyOf(m.ID)] || len(m.ID) == 0 || string(m.ID) == "null" {
			left--
		}
	}
	return left <= 0
}

// add appends a frame.
func (s *httpStream) add(f transport.Frame) {
	complete := s.completes(f)
	if s.form == AnyForm {
		if complete && s.number != 0 {
			s.take(JSONForm)
		} else {
			s.take(StreamForm)
		}
	}
	s.events = append(s.events, f.Bytes)
	messages, _ := f.Messages()
	answered := len(s.asks) == 0
	for _, m := range messages {
		if m.Kind() == transport.Response {
			delete(s.asks, mcp.KeyOf(m.ID))
		}
	}
	if answered {
		s.after++
	}
	if s.number != 0 && (complete || answered) && s.after >= s.answer.After {
		s.over = true
	}
	s.wake()
}

// followStep is what a follower is to do next.
type followStep struct {
	kind    stepKind
	event   []byte // of stepEvent and stepJSON
	answer  Answer
	changed chan struct{} // of stepWait: when to ask again
}

type stepKind uint8

const (
	stepWait   stepKind = iota
	stepPlain           // respond without messages
	stepJSON            // respond with the one message
	stepHead            // begin a stream
	stepEvent           // send the event
	stepEnd             // all is said
	stepBreak           // cut the connection
	stepAbsent          // nothing will be said
)

// next returns what is to be done by a follower that has begun or not and has
// written the events before position at. resumed: it is not the first.
func (s *httpStream) next(begun, resumed bool, at int) followStep {
	step := followStep{kind: s.nextKind(begun, resumed, at), answer: s.answer, changed: s.changed}
	switch step.kind {
	case stepPlain:
		step.answer.Status, step.event = s.plainAnswer()
	case stepJSON:
		step.event = s.events[0]
	case stepEvent:
		step.event = s.event(at)
	}
	return step
}

func (s *httpStream) nextKind(begun, resumed bool, at int) stepKind {
	switch {
	case !begun && s.answer.None:
		return stepBreak
	case !begun && s.plain:
		return stepPlain
	case !begun && s.form == JSONForm && len(s.events) > 0:
		return stepJSON
	case !begun && s.form == StreamForm:
		return stepHead
	case !begun && s.over:
		return stepAbsent
	case !begun:
		return stepWait
	case !resumed && s.answer.Cut && at >= s.cut():
		if s.answer.Broken {
			return stepBreak
		}
		return stepEnd
	case at < len(s.events):
		return stepEvent
	case s.over:
		return stepEnd
	}
	return stepWait
}

// cut is the position of the event before which the first connection ends.
func (s *httpStream) cut() int {
	if s.answer.Primed {
		return s.answer.CutAfter + 1
	}
	return s.answer.CutAfter
}

// event returns the bytes of event i.
func (s *httpStream) event(i int) []byte {
	var b bytes.Buffer
	data := s.events[i]
	if data != nil {
		b.WriteString("event: message\n")
	}
	if s.answer.IDs {
		fmt.Fprintf(&b, "id: %d_%d\n", s.number, i)
	}
	if data == nil && s.answer.Retry != "" {
		fmt.Fprintf(&b, "retry: %s\n", s.answer.Retry)
	}
	b.WriteString("data: ")
	b.Write(data)
	b.WriteString("\n\n")
	return b.Bytes()
}

// parseEventID is the inverse of the ids that event gives.
func parseEventID(id string) (stream uint64, event int, ok bool) {
	n, err := fmt.Sscanf(id, "%d_%d", &stream, &event)
	return stream, event, n == 2 && err == nil && event >= 0
}

// plainAnswer returns the status and the body of a response without messages.
func (s *httpStream) plainAnswer() (status int, body []byte) {
	switch {
	case s.answer.Status != 0:
		return s.answer.Status, s.answer.Body
	case s.faulty:
		return http.StatusBadRequest, []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`)
	case s.oneWay:
		return http.StatusAccepted, []byte("Accepted")
	}
	return http.StatusAccepted, nil
}

// refused reports whether the one answer is an error.
func (s *httpStream) refused() bool {
	if s.form != JSONForm || len(s.events) == 0 {
		return false
	}
	messages, _ := transport.Frame{Bytes: s.events[0]}.Messages()
	return !slices.ContainsFunc(messages, func(m transport.Message) bool { return m.Result != nil })
}
