package sequence

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Label names a message in a few words, the most telling word first. A peer's text is
// short, on one line, and hidden characters stand there by number.
func Label(message timeline.EntryMessage) string {
	m := message
	switch m.Kind {
	case transport.Request:
		return named(m.Method, m.Target, m.ID)
	case transport.Response:
		word := "result"
		of := fmt.Sprintf("#%d %s, %v", m.Request, m.Name(), brief(m.Latency))
		if m.Late {
			of += ", late"
		}
		if m.Failure != "" {
			word = m.Failure
		}
		switch {
		case m.Request != 0 && m.Failure != "":
			return fmt.Sprintf("failed %s: %s", of, m.Failure)
		case m.Request != 0:
			return "result of " + of
		case m.Call != nil:
			return fmt.Sprintf("%s of #%d again", word, m.Call.Request)
		}
		return fmt.Sprintf("%s of no request (id %s)", word, phrase.Name(m.ID))
	case transport.Notification:
		s := m.Name()
		if m.Call != nil {
			s += fmt.Sprintf(" of #%d", m.Call.Request)
		}
		if m.Late {
			s += ", late"
		}
		return s
	}
	return "no JSON-RPC message"
}

// EventLabel names an event without messages, as Label names a message.
func EventLabel(entry timeline.Entry) string {
	switch {
	case entry.Kind == store.Lost:
		return strings.ToUpper(string(entry.Kind)) + " " + entry.Aside()
	case entry.Kind == store.Frame:
		return strings.TrimSpace(frameWords(entry) + " " + entry.Aside())
	case entry.Kind == store.Delivered:
		return fmt.Sprintf("~ held up: %v %s", entry.Dir, entry.Aside())
	case entry.Kind == store.EOF:
		return "(eof) " + entry.Aside()
	}
	return fmt.Sprintf("(%s) %s", phrase.Name(string(entry.Kind)), entry.Aside())
}

// frameWords says why a frame has no messages.
func frameWords(entry timeline.Entry) string {
	switch {
	case entry.Open:
		return "a message whose rest has not come:"
	case entry.Cut > 0:
		return fmt.Sprintf("a message, cut: %d B more passed:", entry.Cut)
	case entry.Noise:
		return "not JSON:"
	}
	return "empty batch"
}

func named(method, target, id string) string {
	m := timeline.EntryMessage{Method: method, Target: target}
	return fmt.Sprintf("%s (id %s)", m.Name(), phrase.Name(id))
}

// fitted returns the label of a message in width columns: it cuts the target of a long
// label, because the words behind the target say more.
func fitted(entryMessage timeline.EntryMessage, width int) string {
	const least = 8 // columns of a target that still mean something
	entryMessage.Target = phrase.CutColumns(entryMessage.Target, max(width, least))
	label := Label(entryMessage)
	for phrase.Columns(label) > width && phrase.Columns(entryMessage.Target) > least {
		over := phrase.Columns(label) - width
		entryMessage.Target = phrase.CutColumns(entryMessage.Target, max(phrase.Columns(entryMessage.Target)-over, least))
		label = Label(entryMessage)
	}
	return label
}

// brief keeps three digits of a duration.
func brief(d time.Duration) time.Duration {
	for unit := time.Duration(1); unit < time.Hour; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Second)
}

// exchange returns the number of an event's HTTP exchange, in brackets.
func exchange(entry timeline.Entry) string {
	if entry.Stream == 0 {
		return ""
	}
	return fmt.Sprintf("[%d] ", entry.Stream)
}
