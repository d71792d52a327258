package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/replay/sequence"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Bodies says what is printed of the bodies of frames.
type Bodies uint8

const (
	NoBodies    Bodies = iota // nothing
	ShortBodies               // the first lines, cut to the screen's width
	FullBodies                // everything
)

// bodyLines is how many lines ShortBodies prints.
const bodyLines = 16

// bodyIndent is how far a body is indented below its line.
const bodyIndent = 8

// EntryPrinter prints entries one by one.
type EntryPrinter struct {
	Print func(timeline.Entry) error
	Close func() error // prints the end of a diagram
}

// EntryLines returns a printer of one line an entry. With pairs the line also names the events of
// the same call.
func EntryLines(s *output.Screen, pairs bool, bodies Bodies) EntryPrinter {
	return EntryPrinter{
		Print: func(e timeline.Entry) error {
			s.Fit(output.Clip)
			paintLine(s, e, pairs)
			if bodies != NoBodies && e.Kind == store.Frame {
				s.Fit(output.Whole)
				b := output.Body{Indent: bodyIndent}
				if bodies == ShortBodies {
					b.Lines = bodyLines
				}
				b.Print(s, e.Payload)
			}
			return nil
		},
		Close: func() error { return nil },
	}
}

// paintLine prints the line of an entry.
func paintLine(s *output.Screen, e timeline.Entry, pairs bool) {
	head, direction, text := e.Parts()
	s.Paint(output.Dim, head)
	s.Paint(ofDirection(e.Dir), direction)
	s.Paint(ofTone(e.Tone()), text)
	if p := e.Pairs(); pairs && p != "" {
		s.Paint(output.Dim, ", "+p)
	}
	s.Paint(output.Unpainted, "\n")
}

// EntrySequence returns a printer that draws a sequence diagram.
func EntrySequence(s *output.Screen) EntryPrinter {
	d := sequence.New(s.Width, func(l sequence.Line) error {
		s.Paint(output.Dim, l.Head)
		s.Paint(output.Cyan, l.Left)
		how := ofTone(l.Tone)
		if l.Tone == timeline.Usual {
			how = ofDirection(l.Dir)
		}
		s.Paint(how, l.Lane)
		s.Paint(output.Magenta, strings.TrimRight(l.Tail, " "))
		s.Paint(output.Unpainted, "\n")
		return nil
	})
	begun := false
	return EntryPrinter{func(e timeline.Entry) error {
		if !begun {
			begun = true
			if err := d.Heading(); err != nil {
				return err
			}
		}
		return d.Add(e)
	}, d.Close}
}

// EntryJSON returns a printer of one object a line.
func EntryJSON(s *output.Screen, pairs bool, bodies Bodies) EntryPrinter {
	enc := output.NewEncoder(s)
	return EntryPrinter{
		Print: func(e timeline.Entry) error {
			return enc.Encode(EntryOf(e, pairs, bodies != NoBodies))
		},
		Close: func() error { return nil },
	}
}

// Entry is the stable form of an entry in JSON.
type Entry struct {
	Seq          uint64          `json:"seq"`
	At           string          `json:"at"`
	Kind         store.Kind      `json:"kind"`
	Dir          string          `json:"dir,omitempty"`
	Stream       uint64          `json:"stream,omitempty"`
	Bytes        int             `json:"bytes"`
	Unterminated bool            `json:"unterminated,omitempty"`
	Redacted     uint64          `json:"redacted,omitempty"`
	Cut          uint64          `json:"cut,omitempty"`
	Text         string          `json:"text,omitempty"`
	Messages     []EntryMessage  `json:"messages,omitempty"`
	Refused      []uint64        `json:"refused,omitempty"`   // the requests that this HTTP status answers
	Cancelled    []uint64        `json:"cancelled,omitempty"` // the requests that the client cancels by hanging up
	Undone       []uint64        `json:"undone,omitempty"`    // the requests whose answer or cancellation this HTTP status refuses
	Frame        json.RawMessage `json:"frame,omitempty"`     // with a body
}

// EntryMessage is a message of an Entry.
type EntryMessage struct {
	Kind        string          `json:"kind"`
	Method      string          `json:"method,omitempty"`
	Target      string          `json:"target,omitempty"`
	ID          json.RawMessage `json:"id,omitempty"`
	Token       json.RawMessage `json:"token,omitempty"`
	Error       string          `json:"error,omitempty"`
	Text        string          `json:"text,omitempty"`
	Request     uint64          `json:"request,omitempty"`
	NotLookedUp bool            `json:"request_not_looked_up,omitempty"`
	Latency     string          `json:"latency,omitempty"`
	Response    uint64          `json:"response,omitempty"`
}

// EntryOf returns the form of an entry in JSON. With pairs it names the events of the same call; with a
// body it has the whole payload: of a frame as JSON, if it is, otherwise as text.
func EntryOf(e timeline.Entry, pairs, body bool) Entry {
	line := Entry{
		Seq: e.Seq, At: e.At.String(), Kind: e.Kind, Dir: e.Dir.String(), Stream: e.Stream, Bytes: e.Size,
		Unterminated: e.Unterminated, Redacted: e.Redacted, Cut: e.Cut, Text: e.Text,
	}
	for _, call := range e.Refused {
		line.Refused = append(line.Refused, call.Request)
	}
	for _, call := range e.Cancelled {
		line.Cancelled = append(line.Cancelled, call.Request)
	}
	for _, call := range e.Undone {
		line.Undone = append(line.Undone, call.Request)
	}
	for _, m := range e.Messages {
		message := EntryMessage{
			Kind: m.Kind.String(), Method: m.Method, Target: m.Target, ID: encodable(m.ID), Token: encodable(m.Token),
			Error: m.Failure, Text: m.Text(), Request: m.Request, NotLookedUp: m.NotLookedUp,
		}
		if m.Latency > 0 {
			message.Latency = m.Latency.String()
		}
		switch {
		case !pairs || m.Call == nil:
		case m.Kind != transport.Request:
			message.Request = m.Call.Request
		case m.Call.Response != 0 || m.Call.Latency > 0: // a request has the latency of its answer, or the time without one
			message.Response, message.Latency = m.Call.Response, m.Call.Latency.String()
		}
		line.Messages = append(line.Messages, message)
	}
	switch {
	case !body:
	case e.Kind == store.Frame && json.Valid(e.Payload):
		line.Frame = e.Payload
	case e.Kind == store.Frame, e.Kind == store.Stderr, e.Kind == store.Note:
		line.Text = strings.ToValidUTF8(string(e.Payload), "\uFFFD")
	}
	return line
}

// encodable returns raw JSON, or nil if its nesting is deeper than an encoder takes.
func encodable(raw string) json.RawMessage {
	if !json.Valid([]byte(raw)) {
		return nil
	}
	return json.RawMessage(raw)
}

// ofDirection returns the colour of a direction.
func ofDirection(dir transport.Direction) output.Style {
	switch dir {
	case transport.ClientToServer:
		return output.Cyan
	case transport.ServerToClient:
		return output.Magenta
	}
	return output.Unpainted
}

func ofTone(t timeline.Tone) output.Style {
	return [...]output.Style{timeline.Usual: output.Unpainted, timeline.Beside: output.Dim, timeline.Fault: output.Red}[t]
}

// WholeEntry prints one entry of a session with its time, its pair and its payload. start is the
// start of the session, zero if it is not known.
func WholeEntry(s *output.Screen, session string, start time.Time, e timeline.Entry) {
	row := func(name, text string) {
		s.Paint(output.Dim, fmt.Sprintf("%-8s", name))
		s.Paint(output.Unpainted, output.Plain(text)+"\n")
	}
	row("event", fmt.Sprintf("#%d of %s", e.Seq, session))
	at := fmt.Sprintf("%v after the start", phrase.Brief(e.At))
	if !start.IsZero() {
		at = start.Add(e.At).Local().Format("2006-01-02 15:04:05.000000") + ", " + at
	}
	row("at", at)
	_, direction, text := e.Parts()
	row("what", direction+text)
	if pairs := e.Pairs(); pairs != "" {
		row("pair", pairs)
	}
	s.Paint(output.Unpainted, "\n")
	output.Body{}.Print(s, e.Payload)
}
