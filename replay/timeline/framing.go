package timeline

import (
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/framing"
)

// Misframed is messages that an end wrote in another form than a line each. They are the Messages of the
// step that ends them; of JSON that is broken there are none.
type Misframed struct {
	framing.Found
	From uint64 // Seq of the first of its lines
}

// pipes reads the lines of both directions of a pipe, in whatever form the messages are.
type pipes [3]struct {
	framing.Reader
	from uint64 // Seq of the first line of what has begun; 0: nothing has
}

// readFrame returns the messages of a frame. Those that its caller has parsed are messages if the frame is
// a line of JSON; else the frame may end messages in another form, or be a part of them.
func (m *Model) readFrame(step *Step, messages []transport.Message, isJSON bool) []transport.Message {
	step.Noise = !isJSON
	dir := step.Dir
	switch {
	case step.Cut > 0 || step.Open || dir != transport.ClientToServer && dir != transport.ServerToClient:
		return messages
	case step.Stream != 0 && (isJSON || IsUnended(step.Event)):
		return messages
	case step.Stream != 0: // a body in which the messages are of no use, but the form is told
		if found := framing.InLine(step.Payload); found.Form != framing.None {
			step.Misframed = &Misframed{found, step.Seq}
		}
		return nil
	}
	pipe := &m.pipes[dir]
	isMessage := isJSON && (len(messages) == 0 || messages[0].Kind() != transport.Invalid)
	state, found := pipe.Take(step.Payload, isMessage)
	if state == framing.Alone {
		pipe.from = 0
		return messages
	}
	step.Noise = true
	if pipe.from == 0 {
		pipe.from = step.Seq
	}
	if state == framing.Part {
		step.Part = true
		return nil
	}
	step.Misframed = &Misframed{found, pipe.from}
	pipe.from = 0
	if form, _, _ := pipe.Begun(); form != framing.None { // a header on the same line
		pipe.from = step.Seq
	}
	step.Noise = len(found.Messages) == 0
	return found.Messages
}

// MessageBytes returns the messages of a frame as JSON, in whatever form they were written.
func (s Step) MessageBytes() []byte {
	if s.Misframed != nil && len(s.Messages) > 0 {
		return s.Misframed.JSON
	}
	return s.Payload
}
