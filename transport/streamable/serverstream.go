package streamable

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// serverStream is what the server says in answer to one request, or, of number 0,
// outside of all requests. It decides and does no I/O: a follower asks it for the next
// step. A stream that has ids outlives the connection it was begun on.
type serverStream struct {
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

func newStream(number uint64) *serverStream {
	return &serverStream{number: number, asks: map[mcp.Key]bool{}, changed: make(chan struct{})}
}

// wake tells all who wait that something is different.
func (s *serverStream) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// ask notes the requests of a frame, whose ids must come back.
func (s *serverStream) ask(f transport.Frame) {
	messages, err := f.Messages()
	s.faulty = err != nil
	for _, m := range messages {
		if m.Kind() == transport.Request {
			s.asks[mcp.KeyOf(m.ID)] = true
			s.begins = s.begins || m.Method == mcp.MethodInitialize
		}
	}
}

// tell says how the response is to be.
func (s *serverStream) tell(a Answer) {
	s.answer = a
	s.over = s.over || a.None
	if s.form == AnyForm && !a.Plain && !a.None && !s.oneWay {
		s.take(a.Form)
	}
	s.wake()
}

// take settles the form.
func (s *serverStream) take(form AnswerForm) {
	s.form = form
	if form == StreamForm && s.answer.Primed {
		s.events = append(s.events, nil)
	}
}

// settle is told that the request was read and that nothing was said at once. What
// asks for nothing is responded to.
func (s *serverStream) settle() {
	if len(s.events) > 0 && !s.answer.Plain {
		return
	}
	if s.answer.Plain || s.oneWay || len(s.asks) == 0 && s.form == AnyForm {
		s.plain, s.over = true, true
		s.wake()
	}
}

// takes reports whether a frame may go out on this stream.
func (s *serverStream) takes(f transport.Frame) bool {
	return !s.over && !s.oneWay && (s.form != JSONForm || s.completes(f))
}

// completes reports whether the frame answers all that is asked.
func (s *serverStream) completes(f transport.Frame) bool {
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
func (s *serverStream) add(f transport.Frame) {
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
func (s *serverStream) next(begun, resumed bool, at int) followStep {
	step := followStep{kind: s.nextKind(begun, resumed, at), answer: s.answer, changed: s.changed}
	switch step.kind {
	case stepPlain:
		switch {
		case s.answer.Status != 0:
			step.event = s.answer.Body
		case s.faulty:
			step.answer.Status = http.StatusBadRequest
			step.event = []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`)
		default:
			step.answer.Status = http.StatusAccepted
			if s.oneWay {
				step.event = []byte("Accepted")
			}
		}
	case stepJSON:
		step.event = s.events[0]
	case stepEvent:
		step.event = s.event(at)
	}
	return step
}

func (s *serverStream) nextKind(begun, resumed bool, at int) stepKind {
	cut := s.answer.CutAfter // the event before which the first connection ends
	if s.answer.Primed {
		cut++
	}
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
	case !resumed && s.answer.Cut && at >= cut:
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

// event returns the bytes of event i.
func (s *serverStream) event(i int) []byte {
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

// refused reports whether the one answer is an error.
func (s *serverStream) refused() bool {
	if s.form != JSONForm || len(s.events) == 0 {
		return false
	}
	messages, _ := transport.Frame{Bytes: s.events[0]}.Messages()
	return !slices.ContainsFunc(messages, func(m transport.Message) bool { return m.Result != nil })
}

// follower is an HTTP response that is fed from a stream.
type follower struct {
	conn    *ServerConn
	stream  *serverStream
	w       http.ResponseWriter
	at      int
	begun   bool
	resumed bool
	nth     int // among the stream's
}

// follow feeds the response until it is over or the client hangs up.
func (f *follower) follow(ctx context.Context) {
	defer f.leave()
	for {
		f.conn.mu.Lock()
		step := f.stream.next(f.begun, f.resumed, f.at)
		if f.nth != f.stream.newest {
			step.kind = stepEnd
		}
		f.conn.mu.Unlock()
		switch step.kind {
		case stepWait:
			select {
			case <-step.changed:
			case <-ctx.Done():
				return
			}
		case stepBreak:
			panic(http.ErrAbortHandler)
		case stepAbsent:
			http.Error(f.w, "mcprec: the session is over", http.StatusServiceUnavailable)
			return
		case stepPlain:
			_ = f.respond(step.answer, "", step.event)
			return
		case stepJSON:
			if f.respond(step.answer, mcp.MediaJSON, step.event) == nil {
				f.advance()
			}
			return
		case stepHead:
			f.begun = true
			if f.respond(step.answer, mcp.MediaEventStream, nil) != nil {
				return
			}
		case stepEvent:
			_, err := f.w.Write(step.event)
			if err == nil {
				err = http.NewResponseController(f.w).Flush()
			}
			f.advance()
			if err != nil {
				return
			}
		case stepEnd:
			return
		}
	}
}

// respond sends the head of the response, and its body or the beginning of that.
func (f *follower) respond(a Answer, contentType string, body []byte) error {
	status := a.Status
	if status == 0 {
		status = http.StatusOK
	}
	h := f.w.Header()
	for name, values := range a.Header {
		h[name] = values
	}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	if contentType == mcp.MediaEventStream {
		h.Set("Cache-Control", "no-cache, no-transform")
		h.Set("X-Accel-Buffering", "no")
	}
	if contentType != mcp.MediaEventStream && status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	c := f.conn
	c.mu.Lock()
	if f.stream.begins && status == http.StatusOK && !f.stream.refused() {
		c.begun, c.named = true, !c.server.o.Stateless && !c.legacy
	}
	named := c.named
	c.mu.Unlock()
	if named {
		h.Set(mcp.HeaderSessionID, c.id)
	}
	f.w.WriteHeader(status)
	if len(body) > 0 {
		if _, err := f.w.Write(body); err != nil {
			return err
		}
	}
	return http.NewResponseController(f.w).Flush()
}

// advance says that an event is out.
func (f *follower) advance() {
	f.at++
	f.conn.mu.Lock()
	defer f.conn.mu.Unlock()
	f.stream.sent = max(f.stream.sent, f.at)
	f.stream.wake()
}

func (f *follower) leave() {
	c := f.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	f.stream.followers--
	f.stream.wake()
	again := f.stream.answer.IDs && f.stream.form == StreamForm // somebody may come back to it
	if f.stream.over && !again && f.stream.number != 0 {
		delete(c.streams, f.stream.number)
	}
}
