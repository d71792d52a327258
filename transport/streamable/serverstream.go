package streamable

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// serverStream has the server's messages for one request, or, of number 0, outside of requests.
// It decides and does no I/O: a follower asks for the next step. A stream with ids outlives the
// connection of its first response.
type serverStream struct {
	number       uint64
	answer       Answer
	form         AnswerForm
	unanswered   map[mcp.Key]bool // ids of requests without a response
	isInitialize bool             // the request is initialize
	oneWay       bool             // the responses go to another stream
	invalid      bool             // the request is no message

	events    [][]byte // the data of each; nil: of the primer
	sent      int      // how many, by any follower
	followers int
	newest    int  // number of the follower that gets the events: a message goes out once
	after     int  // messages since the last response
	plain     bool // the response has no messages
	over      bool // no further message comes
	cut       *cut // where a response breaks off; nil: nowhere
	changed   chan struct{}
}

// cut is where a response breaks off.
type cut struct {
	position int    // of the event that is not sent
	newest   int    // the number of the last follower that it cuts
	frame    []byte // half of it is sent before; nil: nothing is
	open     bool   // the connection stays open
}

// cuts reports whether a follower has come to the cut.
func (s *serverStream) cuts(follower *follower) bool {
	return s.cut != nil && follower.number <= s.cut.newest && follower.position >= s.cut.position &&
		(follower.begun || s.form != StreamForm)
}

func newStream(number uint64) *serverStream {
	return &serverStream{number: number, unanswered: map[mcp.Key]bool{}, changed: make(chan struct{})}
}

// wake wakes the followers and writers after a change.
func (s *serverStream) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// noteRequests notes the requests of a frame, which wait for responses.
func (s *serverStream) noteRequests(frame transport.Frame) {
	messages, err := frame.Messages()
	s.invalid = err != nil
	for _, m := range messages {
		if m.Kind() == transport.Request {
			s.unanswered[mcp.KeyOf(m.ID)] = true
			s.isInitialize = s.isInitialize || m.Method == mcp.MethodInitialize
		}
	}
}

// setAnswer sets the rest of the response.
func (s *serverStream) setAnswer(answer Answer) {
	s.answer = answer
	s.over = s.over || answer.None
	if s.form == AnyForm && !answer.Plain && !answer.None && !s.oneWay {
		s.setForm(answer.Form)
	}
	s.wake()
}

// setForm sets the form of the response.
func (s *serverStream) setForm(form AnswerForm) {
	s.form = form
	if form == StreamForm && s.answer.Primed {
		s.events = append(s.events, nil)
	}
}

// afterRead is called when the reader of the request asks for the next frame. A request that needs
// no response of the reader, such as a notification, is answered then.
func (s *serverStream) afterRead() {
	if len(s.events) > 0 && !s.answer.Plain {
		return
	}
	if s.answer.Plain || s.oneWay || len(s.unanswered) == 0 && s.form == AnyForm {
		s.plain = true
		s.over = true
		s.wake()
	}
}

// accepts reports whether a frame may go out on this stream.
func (s *serverStream) accepts(frame transport.Frame) bool {
	return !s.over && !s.oneWay && (s.form != JSONForm || s.completes(frame))
}

// completes reports whether the frame answers every open request.
func (s *serverStream) completes(frame transport.Frame) bool {
	left := len(s.unanswered)
	messages, _ := frame.Messages()
	for _, m := range messages {
		if m.Kind() != transport.Response {
			return false
		}
		if s.unanswered[mcp.KeyOf(m.ID)] || len(m.ID) == 0 || string(m.ID) == "null" {
			left--
		}
	}
	return left <= 0
}

// add appends a frame.
func (s *serverStream) add(frame transport.Frame) {
	complete := s.completes(frame)
	if s.form == AnyForm {
		if complete && s.number != 0 {
			s.setForm(JSONForm)
		} else {
			s.setForm(StreamForm)
		}
	}
	s.events = append(s.events, frame.Bytes)
	messages, _ := frame.Messages()
	answered := len(s.unanswered) == 0
	for _, m := range messages {
		if m.Kind() == transport.Response {
			delete(s.unanswered, mcp.KeyOf(m.ID))
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

// followStep is the next step of a follower.
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
	stepEnd             // end the response
	stepBreak           // cut the connection
	stepAbsent          // no message will come
)

// next returns the next step of a follower that has begun its response or not and has written
// the events before position at. resumed: it is not the stream's first follower.
func (s *serverStream) next(begun, resumed bool, at int) followStep {
	step := followStep{kind: stepWait, answer: s.answer, changed: s.changed}
	cut := s.answer.CutAfter // the event before which the first connection ends
	if s.answer.Primed {
		cut++
	}
	switch {
	case !begun && s.answer.None:
		step.kind = stepBreak
	case !begun && s.plain:
		step.kind = stepPlain
		switch {
		case s.answer.Status != 0:
			step.event = s.answer.Body
		case s.invalid:
			step.answer.Status = http.StatusBadRequest
			step.event = []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`)
		default:
			step.answer.Status = http.StatusAccepted
			if s.oneWay {
				step.event = []byte("Accepted")
			}
		}
	case !begun && s.form == JSONForm && len(s.events) > 0:
		step.kind = stepJSON
		step.event = s.events[0]
	case !begun && s.form == StreamForm:
		step.kind = stepHead
	case !begun && s.over:
		step.kind = stepAbsent
	case !begun:
	case !resumed && s.answer.Cut && at >= cut:
		step.kind = stepEnd
		if s.answer.Broken {
			step.kind = stepBreak
		}
	case at < len(s.events):
		step.kind, step.event = stepEvent, s.event(at)
	case s.over:
		step.kind = stepEnd
	}
	return step
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

// parseEventID parses the ids of event.
func parseEventID(id string) (stream uint64, event int, ok bool) {
	n, err := fmt.Sscanf(id, "%d_%d", &stream, &event)
	return stream, event, n == 2 && err == nil && event >= 0
}

// refused reports whether the JSON response is an error.
func (s *serverStream) refused() bool {
	if s.form != JSONForm || len(s.events) == 0 {
		return false
	}
	messages, _ := transport.Frame{Bytes: s.events[0]}.Messages()
	return !slices.ContainsFunc(messages, func(message transport.Message) bool { return message.Result != nil })
}

// follower is an HTTP response that gets the events of a stream.
type follower struct {
	conn     *ServerConn
	stream   *serverStream
	writer   http.ResponseWriter
	position int
	begun    bool
	resumed  bool
	number   int  // among the stream's
	begins   bool // the response decides whether the session begins
}

// decide tells the server whether the session has begun. A client may try again as soon as it has
// the response, so decide comes before it.
func (f *follower) decide() {
	if f.begins {
		f.begins = false
		f.conn.server.sessionBegan(f.conn)
	}
}

// follow writes the response until the end, or until the client hangs up.
func (f *follower) follow(ctx context.Context) {
	defer f.leave()
	for {
		f.conn.mu.Lock()
		step := f.stream.next(f.begun, f.resumed, f.position)
		if f.number != f.stream.newest {
			step.kind = stepEnd
		}
		var here *cut
		if f.stream.cuts(f) {
			here = f.stream.cut
		}
		f.conn.mu.Unlock()
		if here != nil {
			f.breakOff(ctx, here, step.answer)
			return
		}
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
			http.Error(f.writer, "mcprec: the session is over", http.StatusServiceUnavailable)
			return
		case stepPlain:
			_ = f.respond(step.answer, "", step.event)
			return
		case stepJSON:
			if f.respond(step.answer, mcp.MediaJSON, step.event) == nil {
				f.wroteEvent()
			}
			return
		case stepHead:
			f.begun = true
			if f.respond(step.answer, mcp.MediaEventStream, nil) != nil {
				return
			}
		case stepEvent:
			_, err := f.writer.Write(step.event)
			if err == nil {
				err = http.NewResponseController(f.writer).Flush()
			}
			f.wroteEvent()
			if err != nil {
				return
			}
		case stepEnd:
			return
		}
	}
}

// breakOff ends the response within a message or in front of it.
func (f *follower) breakOff(ctx context.Context, here *cut, answer Answer) {
	half := here.frame[:len(here.frame)/2]
	switch {
	case len(half) == 0:
	case f.begun:
		_, _ = f.writer.Write(append([]byte("event: message\ndata: "), half...))
		_ = http.NewResponseController(f.writer).Flush()
	default:
		_ = f.respondPart(answer, mcp.MediaJSON, half, len(here.frame))
	}
	if here.open {
		<-ctx.Done()
		return
	}
	panic(http.ErrAbortHandler)
}

// respond sends the head of the response, and the body or its beginning.
func (f *follower) respond(answer Answer, contentType string, body []byte) error {
	return f.respondPart(answer, contentType, body, len(body))
}

// respondPart is respond with the beginning of a body of a length in bytes.
func (f *follower) respondPart(answer Answer, contentType string, body []byte, length int) error {
	status := answer.Status
	if status == 0 {
		status = http.StatusOK
	}
	h := f.writer.Header()
	maps.Copy(h, answer.Header)
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	if contentType == mcp.MediaEventStream {
		h.Set("Cache-Control", "no-cache, no-transform")
		h.Set("X-Accel-Buffering", "no")
	}
	if contentType != mcp.MediaEventStream && status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(length))
	}
	c := f.conn
	c.mu.Lock()
	if f.stream.isInitialize && status == http.StatusOK && !f.stream.refused() {
		c.begun = true
		c.named = !c.server.options.Stateless && !c.legacy
	}
	named := c.named
	c.mu.Unlock()
	f.decide()
	if named {
		h.Set(mcp.HeaderSessionID, c.id)
	}
	f.writer.WriteHeader(status)
	if len(body) > 0 {
		if _, err := f.writer.Write(body); err != nil {
			return err
		}
	}
	return http.NewResponseController(f.writer).Flush()
}

// wroteEvent notes that an event is sent.
func (f *follower) wroteEvent() {
	f.position++
	f.conn.mu.Lock()
	defer f.conn.mu.Unlock()
	f.stream.sent = max(f.stream.sent, f.position)
	f.stream.wake()
}

func (f *follower) leave() {
	c := f.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	f.stream.followers--
	f.stream.wake()
	again := f.stream.answer.IDs && f.stream.form == StreamForm // a client may resume it
	if f.stream.over && !again && f.stream.number != 0 {
		delete(c.streams, f.stream.number)
	}
}
