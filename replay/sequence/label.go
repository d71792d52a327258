package sequence

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/transport"
)

// Label names a message in a few words, what a diagram is about first.
func Label(m replay.EntryMessage) string {
	switch m.Kind {
	case transport.Request:
		return named(m.Method, m.Target, m.ID)
	case transport.Response:
		return answer(m)
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

func named(method, target, id string) string {
	m := replay.EntryMessage{Method: method, Target: target}
	return fmt.Sprintf("%s (id %s)", m.Name(), replay.Clip(id))
}

func answer(m replay.EntryMessage) string {
	word, of := "result", fmt.Sprintf("#%d %s, %v", m.Request, m.Name(), brief(m.Latency))
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
	return fmt.Sprintf("%s of no request (id %s)", word, replay.Clip(m.ID))
}

// fitted is the label of a message in so many columns: of a long one the target is cut,
// for what stands behind it says more.
func fitted(m replay.EntryMessage, width int) string {
	const least = 8 // columns of a target that still tell something
	m.Target = cut(m.Target, max(width, least))
	label := Label(m)
	for over := columns(label) - width; over > 0 && columns(m.Target) > least; over = columns(label) - width {
		m.Target = cut(m.Target, max(columns(m.Target)-over, least))
		label = Label(m)
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

// exchange is the number of an HTTP exchange.
func exchange(e replay.Entry) string {
	if e.Stream == 0 {
		return ""
	}
	return fmt.Sprintf("[%d] ", e.Stream)
}

// unanswered are the calls in flight, in the order of their requests.
func (d *Diagram) unanswered() []*replay.Call {
	var calls []*replay.Call
	for c := range d.open {
		calls = append(calls, c)
	}
	slices.SortFunc(calls, func(a, b *replay.Call) int {
		return cmp.Or(cmp.Compare(a.Request, b.Request), cmp.Compare(a.ID, b.ID))
	})
	return calls
}

// screen measures text without asking the environment what it thinks of it.
var screen = &runewidth.Condition{StrictEmojiNeutral: true}

// columns is how many columns a text takes.
func columns(s string) int { return screen.StringWidth(s) }

// cut shortens a text to so many columns, between characters.
func cut(s string, width int) string {
	if columns(s) <= width {
		return s
	}
	return screen.Truncate(s, width, "…")
}
