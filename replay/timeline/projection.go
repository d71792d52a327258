package timeline

import (
	"encoding/json"
	"iter"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Projection is a read model folded from a session's steps. A program can throw one away
// and rebuild it at any time.
type Projection interface {
	// Take takes the next step, in Seq order. An error ends the fold.
	Take(Step) error
}

// Project feeds the steps to every projection, in one pass, and stops at the first error
// of the sequence or of a projection.
func Project(steps iter.Seq2[Step, error], ps ...Projection) error {
	for step, err := range steps {
		if err != nil {
			return err
		}
		for _, p := range ps {
			if err := p.Take(step); err != nil {
				return err
			}
		}
	}
	return nil
}

// Steps yields the steps of a session from its events, as a model that remembers the usual number of
// past calls takes them. A step is good until the next.
func Steps(events iter.Seq2[store.Event, error]) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		NewModel(Remembered).Steps(events)(yield)
	}
}

// Steps takes the events, and yields their steps. An error of the sequence comes with the zero Step.
func (m *Model) Steps(events iter.Seq2[store.Event, error]) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		for e, err := range events {
			var step Step
			if err == nil {
				step = m.Take(e)
			}
			if !yield(step, err) {
				return
			}
		}
	}
}

// Target returns the subject of a request or notification: a tool's or prompt's name, a
// resource's uri. It reports false if the method has no subject or the message names none.
func Target(message transport.Message) (string, bool) {
	var key string
	switch {
	case message.Method == mcp.MethodCallTool || message.Method == mcp.MethodGetPrompt:
		key = "name"
	case strings.HasPrefix(message.Method, "resources/") || message.Method == mcp.NotificationResourceUpdated:
		key = "uri"
	default:
		return "", false
	}
	return transport.Text(transport.Member(message.Params, key))
}

// TargetOf returns the target, or "".
func TargetOf(message transport.Message) string {
	s, _ := Target(message)
	return s
}

// CancelledID returns the raw id of the request that a cancellation names; nil of any other
// message.
func CancelledID(message transport.Message) json.RawMessage {
	if message.Method != mcp.NotificationCancelled {
		return nil
	}
	return transport.Member(message.Params, mcp.MemberRequestID)
}

// MessagesOf parses a frame. A frame that is not JSON has no messages.
func MessagesOf(frame transport.Frame) []transport.Message {
	messages, _ := frame.Messages()
	return messages
}

// oneLine escapes the characters of a text that would break the line or drive a terminal.
func oneLine(s string) string {
	hidden := func(r rune) bool { return !unicode.IsGraphic(r) }
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
