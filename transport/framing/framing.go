// Package framing finds the messages in lines that are not a message each.
//
// On stdio a message of MCP is one line of JSON. Programs write messages in other forms too: over several
// lines, behind Content-Length headers, in UTF-16, with colours around them. A peer that reads lines sees no
// message there. [Reader] names the form, so that a report does not call it a stray line, and returns the
// messages, so that a reader of a session knows what was meant.
//
// # Data layout
//
// A Reader has what it needs of one direction: the lines of a message that has begun, at most [most] bytes of
// them, and what a header has announced. [InLine] reads a line alone, as the body of an HTTP message.
//
// # What it refuses
//
// The package does no I/O and asks no clock. It repairs nothing: where JSON breaks, it says at which byte,
// and finds no message.
package framing

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Form is a way to write messages that is not one line of JSON for each.
type Form string

// The forms.
const (
	None          Form = ""
	SeveralLines  Form = "pretty-printed JSON"
	ContentLength Form = "Content-Length headers"
	EventStream   Form = "server-sent events"
	UTF16         Form = "UTF-16"
	ByteOrderMark Form = "a byte order mark"
	Colours       Form = "terminal colours"
	SeveralInLine Form = "several messages in a line"
	OddBlank      Form = "a character that JSON does not have between its parts"
	NotJSON       Form = "almost JSON"
)

// Found is what lines hold in another form.
type Found struct {
	Form     Form
	Messages []transport.Message // none of NotJSON
	JSON     []byte              // the messages as JSON, in brackets if there are several
	Lines    int                 // how many lines it took
	At       int                 // of NotJSON: the byte of the line at which JSON breaks, from 1
	What     string              // of OddBlank and NotJSON: what stands there
}

// Says describes the form for a sentence that begins with "wrote a message": "as pretty-printed JSON over 13 lines".
func (f Found) Says() string {
	switch f.Form {
	case SeveralLines:
		return fmt.Sprintf("as pretty-printed JSON, over %s", phrase.Plural(f.Lines, "line"))
	case ContentLength:
		return "behind Content-Length headers, as language servers do"
	case EventStream:
		return "as a server-sent event, as over HTTP"
	case UTF16:
		return "in UTF-16"
	case ByteOrderMark:
		return "behind a byte order mark"
	case Colours:
		return "with terminal colours around it"
	case SeveralInLine:
		return fmt.Sprintf("in one line with another, %d in all", len(f.Messages))
	case OddBlank:
		return "with " + f.What + " it, which is no white space to JSON"
	case NotJSON:
		return fmt.Sprintf("that is not JSON from byte %d on, %s", f.At, f.What)
	}
	return ""
}

// Wants says what a peer that reads lines needs instead.
func (f Found) Wants() string {
	switch f.Form {
	case UTF16, ByteOrderMark:
		return "messages are UTF-8, without a mark"
	case Colours, OddBlank:
		return "nothing but the message stands in a line"
	case SeveralInLine:
		return "each message needs a line of its own"
	case NotJSON:
		return ""
	}
	return "a message is one line, and nothing else"
}

// State is what a line is to a Reader.
type State uint8

const (
	Alone State = iota // the line belongs to nothing: a message, a stray line, a blank one
	Part               // the line may be a part of a message that is not whole
	Whole              // the line ends a message in another form
)

// most is how many bytes a message over several lines may have, and mostLines how many lines.
const (
	most      = 64 << 20
	mostLines = 1 << 20
)

// Reader reads the lines of one direction. The zero Reader is ready.
type Reader struct {
	form    Form   // of what has begun; None: nothing has
	text    []byte // of a message that has begun
	lines   int
	length  int // of the body that a header has announced
	inBody  bool
	tracker transport.Brackets
	utf16   bool // the lines before were UTF-16
}

// Begun returns the form of a message that has begun and is not whole, its text and its lines.
func (r *Reader) Begun() (form Form, text []byte, lines int) { return r.form, r.text, r.lines }

// Take reads a line, without its newline. isMessage is set for a line that is a message by itself.
func (r *Reader) Take(line []byte, isMessage bool) (State, Found) {
	if r.form != None {
		state, found := r.goOn(line, isMessage)
		if state != Alone {
			return state, found
		}
		r.reset()
	}
	if isMessage {
		r.utf16 = false
		return Alone, Found{}
	}
	return r.begin(line)
}

// Clone returns a reader that takes later lines apart from r.
func (r *Reader) Clone() Reader {
	clone := *r
	clone.text = bytes.Clone(r.text)
	return clone
}

func (r *Reader) reset() { *r = Reader{utf16: r.utf16} }

// begin reads a line behind which nothing is open.
func (r *Reader) begin(line []byte) (State, Found) {
	if r.utf16 && len(bytes.Trim(line, "\x00\r")) == 0 { // the other half of the newline
		return Part, Found{Form: UTF16}
	}
	blank := transport.TrimBlanks(line)
	if n, ok := contentLength(blank); ok {
		r.form = ContentLength
		r.length = n
		r.lines = 1
		return Part, Found{}
	}
	if isEventField(blank) {
		r.form = EventStream
		r.lines = 1
		return Part, Found{}
	}
	if found := InLine(line); found.Form != None {
		r.utf16 = found.Form == UTF16
		if found.Form == EventStream {
			r.form = EventStream
			r.lines = 1
		}
		found.Lines = 1
		return Whole, found
	}
	if beginsJSON(blank) {
		r.form = SeveralLines
		return r.goOn(line, false)
	}
	return Alone, Found{}
}

// goOn reads a line behind others that have begun something.
func (r *Reader) goOn(line []byte, isMessage bool) (State, Found) {
	if r.lines++; r.lines > mostLines || len(r.text)+len(line) > most {
		return Alone, Found{}
	}
	switch r.form {
	case SeveralLines:
		return r.goOnLines(line, isMessage)
	case ContentLength:
		return r.goOnLength(line, isMessage)
	}
	blank := transport.TrimBlanks(line)
	switch {
	case len(blank) == 0:
		r.reset()
		return Part, Found{Form: EventStream} // the end of the event
	case isEventField(blank):
		return Part, Found{}
	}
	found := InLine(line)
	if found.Form != EventStream {
		return Alone, Found{}
	}
	found.Lines = r.lines
	return Whole, found
}

// goOnLines reads a line of pretty-printed JSON.
func (r *Reader) goOnLines(line []byte, isMessage bool) (State, Found) {
	if isMessage {
		return Alone, Found{}
	}
	if len(r.text) > 0 {
		r.text = append(r.text, '\n')
		if r.tracker.InText {
			return Alone, Found{} // a newline within a string: no JSON, whatever comes
		}
	}
	r.text = append(r.text, line...)
	switch standingAfter(&r.tracker, line) {
	case open:
		return Part, Found{}
	case broken:
		return Alone, Found{}
	}
	text := r.text
	lines := r.lines
	r.reset()
	messages := messagesOf(text)
	if messages == nil {
		return Alone, Found{}
	}
	return Whole, Found{Form: SeveralLines, Messages: messages, JSON: text, Lines: lines}
}

// goOnLength reads a line behind a Content-Length header.
func (r *Reader) goOnLength(line []byte, isMessage bool) (State, Found) {
	blank := transport.TrimBlanks(line)
	if !r.inBody {
		switch {
		case len(blank) == 0:
			r.inBody = true
			return Part, Found{}
		case bytes.HasPrefix(bytes.ToLower(blank), []byte("content-")):
			return Part, Found{}
		}
		return Alone, Found{}
	}
	lines := r.lines
	if isMessage && len(r.text) == 0 { // whole, whatever the header said
		r.reset()
		return Whole, Found{Form: ContentLength, Messages: messagesOf(line), JSON: bytes.Clone(blank), Lines: lines}
	}
	if len(r.text) > 0 {
		r.text = append(r.text, '\n')
	}
	r.text = append(r.text, line...)
	if len(r.text) < r.length {
		return Part, Found{}
	}
	body, rest := r.text[:r.length], transport.TrimBlanks(r.text[r.length:])
	messages := messagesOf(body)
	if i := bytes.LastIndexByte(r.text, '}') + 1; messages == nil && i > 0 { // the header was wrong
		body, rest = r.text[:i], transport.TrimBlanks(r.text[i:])
		messages = messagesOf(body)
	}
	next, isHeader := contentLength(rest)
	if messages == nil || len(rest) > 0 && !isHeader {
		return Alone, Found{}
	}
	r.reset()
	if isHeader {
		r.form = ContentLength
		r.length = next
		r.lines = 1
	}
	return Whole, Found{Form: ContentLength, Messages: messages, JSON: bytes.Clone(transport.TrimBlanks(body)), Lines: lines}
}

// contentLength reads the header of that name.
func contentLength(line []byte) (length int, ok bool) {
	const name = "content-length:"
	if len(line) < len(name) || len(line) > len(name)+20 || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return 0, false
	}
	length, err := strconv.Atoi(string(transport.TrimBlanks(line[len(name):])))
	return length, err == nil && length > 0
}

// isEventField reports whether a line is a field of a server-sent event before its data.
func isEventField(line []byte) bool {
	return bytes.HasPrefix(line, []byte("event: ")) || bytes.HasPrefix(line, []byte("id: ")) || bytes.HasPrefix(line, []byte("retry: "))
}

// messagesOf returns the messages in a text; nil if one is no message.
func messagesOf(text []byte) []transport.Message {
	messages, err := transport.Frame{Bytes: text}.Messages()
	if err != nil || len(messages) == 0 {
		return nil
	}
	for _, m := range messages {
		if m.Kind() == transport.Invalid {
			return nil
		}
	}
	return messages
}

// beginsJSON reports whether a line may begin a message over several lines: an object or an array of
// objects, whose first line is not its last.
func beginsJSON(line []byte) bool {
	if len(line) == 0 {
		return false
	}
	rest := line
	if rest[0] == '[' {
		rest = transport.TrimBlanks(rest[1:])
		if len(rest) == 0 {
			return len(line) == 1
		}
	}
	if rest[0] != '{' {
		return false
	}
	rest = transport.TrimBlanks(rest[1:])
	return len(rest) == 0 || rest[0] == '"'
}

type standing uint8

const (
	open standing = iota
	closed
	broken
)

// standingAfter reads a line, and says whether the brackets are open, closed or broken after it.
func standingAfter(b *transport.Brackets, line []byte) standing {
	for i, c := range line {
		before := b.Depth
		switch closes := b.Take(c); {
		case closes:
			if len(transport.TrimBlanks(line[i+1:])) > 0 {
				return broken
			}
			return closed
		case before == 0 && b.Depth == 0 && !b.InText && c != '"' && c != ' ' && c != '\t' && c != '\r':
			return broken
		}
	}
	return open
}
