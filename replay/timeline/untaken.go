package timeline

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Untaken is an answer that stands in the response to a call's request in a form that clients do not take.
// The call is not answered.
type Untaken struct {
	Moment
	Form Form
	Name string // the media type, the event or the coding that it stands under
}

// Form is how an answer stands in a response where it is not taken.
type Form uint8

const (
	WrongType   Form = iota + 1 // in a body of another media type
	WrongEvent                  // in a server-sent event of another name
	NoBlankLine                 // in a server-sent event without its blank line
	NoEvent                     // by itself in a stream of events
	EventInBody                 // as a server-sent event in a body that is no stream of events
	WrongCoding                 // in a body that says that it is coded, and is not
	BodyUnended                 // in a body whose end has not come
)

// How says how the answer stands in the response, as a clause: "as text/plain".
func (u *Untaken) How() string {
	name := phrase.Shorten(u.Name, 120)
	switch u.Form {
	case WrongEvent:
		return "in an event named " + strconv.Quote(name)
	case NoBlankLine:
		return "in an event without its blank line"
	case NoEvent:
		return "in no event"
	case EventInBody:
		return "as an event in a body of " + name
	case WrongCoding:
		return "not coded as " + name
	case BodyUnended:
		return "in a body without its end"
	case WrongType:
		if name == "" {
			return "without a content type"
		}
	}
	return "as " + name
}

// answerLimit is how much of the text of a response is kept while the response may be an answer.
const answerLimit = 64 << 10

// takeStretch takes a stretch of a response that is no frame.
func (m *Model) takeStretch(step *Step, x *Exchange, info *store.HTTPInfo) {
	text := bodyOf(info)
	x.Response.Fault = info.Error
	x.Response.add(step, text, true)
	if !m.mayAnswer(step, x) {
		return
	}
	if x.text = append(x.text, text...); len(x.text) > answerLimit {
		x.text = nil
		return
	}
	untaken := Untaken{Moment: Moment{x.Response.Seq, step.At}, Form: WrongType, Name: x.MediaType}
	switch {
	case x.Coding != "":
		untaken.Form = WrongCoding
		untaken.Name = x.Coding
	case x.IsStream(): // an event that was too long to be held
		untaken.Form = NoBlankLine
	}
	m.noteUntaken(step, x.text, untaken)
}

// takeEvent takes a server-sent event that is more than a frame.
func (m *Model) takeEvent(step *Step, x *Exchange, info *store.HTTPInfo) {
	text := bodyOf(info)
	switch {
	case !m.mayAnswer(step, x) || info.SSE == nil:
	case len(text) == 0:
		m.noteUntaken(step, []byte(strings.Join(info.SSE.Lines, "\n")), Untaken{Moment: step.Moment(), Form: NoEvent})
	default:
		m.noteUntaken(step, text, Untaken{Moment: step.Moment(), Form: WrongEvent, Name: info.SSE.Event})
	}
}

// takeRest takes what a stream of events had behind its last event when it ended.
func (m *Model) takeRest(step *Step, x *Exchange, info *store.HTTPInfo) {
	text := bodyOf(info)
	if len(text) == 0 {
		return
	}
	x.Response.add(step, text, true)
	if !m.mayAnswer(step, x) {
		return
	}
	untaken := Untaken{Moment: step.Moment(), Form: NoBlankLine}
	if _, data := readEvent(text); data != nil {
		text = data
	} else {
		untaken.Form = NoEvent
	}
	m.noteUntaken(step, text, untaken)
}

// mayAnswer reports whether the text of a response may be an answer.
func (m *Model) mayAnswer(step *Step, x *Exchange) bool {
	return !x.IsRefused() && len(m.requests.openOn(step.Stream)) > 0
}

// bodyOf returns the bytes of a body in an HTTP event.
func bodyOf(info *store.HTTPInfo) []byte {
	if info.Body64 != nil {
		return info.Body64
	}
	return []byte(info.Body)
}

// add adds bytes to a body; isText: they are no frame.
func (b *Body) add(step *Step, data []byte, isText bool) {
	if b.Seq == 0 {
		b.Seq = step.Seq
	}
	b.Size += int64(len(data))
	if room := excerptLimit - len(b.Text); isText && room > 0 {
		b.Text = append(b.Text, data[:min(room, len(data))]...)
	}
}

// excerptLimit is how much of a body that is no frame is kept for a sentence.
const excerptLimit = 200

// IsUnended reports whether a frame is the beginning of a body of HTTP, or of a server-sent event, whose end
// has not come, or never came.
func IsUnended(e store.Event) bool { return e.Stream != 0 && e.Unterminated && e.Cut == 0 }

// takeBody notes a frame as the body of its exchange, or a part of it. It reports whether the frame is
// the beginning of a response's body, or of an event in it, whose end has not come: then no client has the
// message.
func (m *Model) takeBody(step *Step, messages []transport.Message) (isUnended bool) {
	x := step.Exchange
	isOpen := IsUnended(step.Event)
	if x != nil && step.Dir == transport.ClientToServer {
		x.Request.add(step, nil, false)
		x.Request.Size += int64(step.Size()) + int64(step.Cut)
		x.Request.Open = isOpen
		return false
	}
	if x != nil {
		x.Response.add(step, nil, false)
		x.Response.Size += int64(step.Size()) + int64(step.Cut)
		x.Response.Open = isOpen
	}
	if step.Dir != transport.ServerToClient {
		return false
	}
	switch {
	case isOpen:
		m.findAnswer(step, messages, Untaken{Moment: step.Moment(), Form: BodyUnended})
	case step.Noise && x != nil && !x.IsStream() && !x.IsRefused():
		x.Response.Text = append(x.Response.Text[:0], step.Payload[:min(excerptLimit, len(step.Payload))]...)
		if _, data := readEvent(step.Payload); data != nil {
			m.noteUntaken(step, data, Untaken{Moment: step.Moment(), Form: EventInBody, Name: x.MediaType})
		}
	}
	return isOpen
}

// noteUntaken notes an answer that stands in some bytes, if one does.
func (m *Model) noteUntaken(step *Step, text []byte, untaken Untaken) {
	text = transport.TrimBlanks(text)
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return
	}
	messages, err := transport.Frame{Bytes: text}.Messages()
	if err == nil {
		m.findAnswer(step, messages, untaken)
	}
}

// findAnswer notes the answers among some messages as untaken ones of their calls.
func (m *Model) findAnswer(step *Step, messages []transport.Message, untaken Untaken) {
	scope := m.scopes.of(step.Stream, step.Exchange)
	for i := range messages {
		if messages[i].Kind() != transport.Response {
			continue
		}
		call := m.requests.answered(scope, step.Dir.Reverse(), step.Stream, mcp.KeyOf(messages[i].ID))
		if call != nil && !call.refused {
			call.Untaken = &untaken
		}
	}
}

// readEvent reads the first server-sent event in some bytes, with or without its blank line. data is nil if
// there is none.
func readEvent(text []byte) (event string, data []byte) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0 && data != nil:
			return event, data
		case string(name) == "event":
			event = string(value)
		case string(name) == "data":
			data = append(append(data, value...), '\n')
		}
	}
	return event, data
}
