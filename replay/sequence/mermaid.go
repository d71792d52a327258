package sequence

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

// MermaidLimit is how many characters mermaid.js draws by default.
const MermaidLimit = 50_000

// Mermaid draws entries as the text of a sequenceDiagram. It belongs to one goroutine.
type Mermaid struct {
	emit  func(line string) error
	room  int // characters that are left
	left  int // events left out
	begun bool
}

// NewMermaid returns a drawing of at most limit characters; emit gets its lines.
func NewMermaid(limit int, emit func(line string) error) *Mermaid {
	const lastLine = 200 // characters for the line about the events left out
	return &Mermaid{emit: emit, room: limit - lastLine}
}

// Add draws an entry: a line for each of its messages. An entry that has no room is left
// out, and so is every entry behind it.
func (d *Mermaid) Add(entry timeline.Entry) error {
	if err := d.begin(); err != nil {
		return err
	}
	var lines []string
	for _, m := range entry.Messages {
		lines = append(lines, mermaidArrow(entry, m))
	}
	if len(lines) == 0 {
		lines = append(lines, mermaidNote(entry))
	}
	size := 0
	for _, l := range lines {
		size += utf8.RuneCountInString(l) + 1
	}
	if d.left > 0 || size > d.room {
		d.left++
		return nil
	}
	d.room -= size
	for _, l := range lines {
		if err := d.emit(l); err != nil {
			return err
		}
	}
	return nil
}

func (d *Mermaid) begin() error {
	if d.begun {
		return nil
	}
	d.begun = true
	for _, l := range []string{"sequenceDiagram", "    participant C as client", "    participant S as server"} {
		d.room -= len(l) + 1
		if err := d.emit(l); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the drawing. It returns how many events were left out; the drawing says it
// too.
func (d *Mermaid) Close() (left int, err error) {
	if err := d.begin(); err != nil || d.left == 0 {
		return 0, err
	}
	return d.left, d.emit(fmt.Sprintf("    Note over C,S: %s", mermaidText(fmt.Sprintf("%s %s left out: mermaid.js draws no more than %d characters",
		phrase.Plural(d.left, "more event"), phrase.Agree(d.left, "is", "are"), MermaidLimit))))
}

// mermaidArrow draws requests solid, answers dotted, notifications open, failures crossed.
func mermaidArrow(entry timeline.Entry, entryMessage timeline.EntryMessage) string {
	arrow := "->>"
	switch {
	case entryMessage.Tone() == timeline.Fault:
		arrow = "--x"
	case entryMessage.Kind == transport.Response:
		arrow = "-->>"
	case entryMessage.Kind == transport.Notification:
		arrow = "-)"
	}
	return mermaidLine(entry, arrow, Label(entryMessage))
}

func mermaidLine(entry timeline.Entry, arrow, label string) string {
	ends := "C" + arrow + "S"
	if entry.Dir == transport.ServerToClient {
		ends = "S" + arrow + "C"
	}
	return "    " + ends + ": " + mermaidText(fmt.Sprintf("#%d %s%s", entry.Seq, exchange(entry), label))
}

// mermaidNote draws an event without messages: at the server if it concerns only that.
func mermaidNote(e timeline.Entry) string {
	where := "over C,S"
	what := string(e.Kind)
	switch {
	case e.Noise:
		return mermaidLine(e, "--x", EventLabel(e))
	case e.Kind == store.Frame:
		what = frameWords(e)
	case e.Kind == store.Stderr, e.Kind == store.Exited:
		where = "right of S"
	case e.Kind == store.Lost:
		what = "LOST"
	case e.Kind == store.Delivered:
		what += " " + e.Dir.String()
	}
	text := fmt.Sprintf("#%d %s%s %s", e.Seq, exchange(e), phrase.Name(what), e.Aside())
	return fmt.Sprintf("    Note %s: %s", where, mermaidText(text))
}

// mermaidText escapes a text: every character but letters, digits and some marks is written
// by its number.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf && strings.ContainsRune(" _/.,:()-+'", r) || unicode.In(r, unicode.Letter, unicode.Digit, unicode.Mark) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return strings.TrimRight(b.String(), " ")
}
