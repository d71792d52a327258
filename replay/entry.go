package replay

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Entry is one event as a timeline shows it.
type Entry struct {
	Seq          uint64
	At           time.Duration
	Kind         store.Kind
	Dir          transport.Direction
	Stream       uint64
	Size         int // bytes of the payload
	Unterminated bool
	Messages     []EntryMessage // of a frame
	Batch        bool           // a frame of any number of messages in brackets
	Noise        bool           // a frame that is not JSON: a stray log line, a blank one
	Text         string         // of noise and of other events
	Payload      []byte         // the event's own
}

// EntryMessage is one message of a frame.
type EntryMessage struct {
	Kind    transport.MessageKind
	Method  string // of a response: of the request it answers
	Target  string // tool or prompt name, resource uri; of a response: of its request
	ID      string // raw JSON
	Token   string // raw progress token
	Failure string // of an error response its code and message; "tool error" of a result with isError
	Request uint64 // of a response or cancellation: Seq of the request; 0: there is none
	Latency time.Duration
	Call    *Call // that it is about: its request, answer, progress or cancellation; nil: none. It may know more later.
}

// Summary returns one line without Seq, At and direction.
func (e Entry) Summary() string {
	var parts []string
	switch {
	case e.Kind != store.Frame:
		parts = append(parts, string(e.Kind))
	case e.Noise:
		parts = append(parts, "not JSON")
	case len(e.Messages) == 0:
		parts = append(parts, "empty batch")
	case len(e.Messages) > 1:
		parts = append(parts, fmt.Sprintf("batch of %d:", len(e.Messages)))
	}
	for i, m := range e.Messages {
		if i > 0 {
			parts[len(parts)-1] += ";"
		}
		parts = append(parts, m.Summary())
	}
	if e.Text != "" {
		parts = append(parts, e.Text)
	}
	if e.Unterminated {
		parts = append(parts, "(no newline at its end)")
	}
	if e.Kind == store.Frame {
		parts = append(parts, fmt.Sprintf("(%d B)", e.Size))
	}
	return oneLine(strings.Join(parts, " "))
}

// String returns the whole line; the time is in seconds, the number of an exchange over
// HTTP in brackets.
func (e Entry) String() string {
	arrow := map[transport.Direction]string{transport.ClientToServer: "c2s ->", transport.ServerToClient: "s2c <-"}[e.Dir]
	stream := ""
	if e.Stream != 0 {
		stream = fmt.Sprintf("[%d] ", e.Stream)
	}
	return fmt.Sprintf("%6d %11.6f %-6s %s%s", e.Seq, e.At.Seconds(), arrow, stream, e.Summary())
}

// Summary returns the message in a few words.
func (m EntryMessage) Summary() string {
	name := clip(m.Method)
	if m.Target != "" {
		name += " " + quote(m.Target)
	}
	switch m.Kind {
	case transport.Request:
		s := fmt.Sprintf("request %s id %s", name, clip(m.ID))
		if m.Token != "" {
			s += " token " + clip(m.Token)
		}
		return s
	case transport.Notification:
		return m.notification(name)
	case transport.Response:
		return m.response(name)
	}
	return "no JSON-RPC message"
}

func (m EntryMessage) notification(name string) string {
	s := "notification " + name
	if m.Token != "" {
		s += " token " + clip(m.Token)
	}
	if m.Request != 0 {
		s += fmt.Sprintf(" of #%d", m.Request)
	}
	return s
}

func (m EntryMessage) response(name string) string {
	s := "result"
	if m.Failure != "" {
		s = m.Failure
	}
	id := clip(m.ID)
	if id == "" {
		id = "missing"
	}
	if m.Request == 0 {
		return fmt.Sprintf("response %s id %s, to no request", s, id)
	}
	return fmt.Sprintf("response %s of %s id %s after %v", s, name, id, m.Latency.Round(time.Microsecond))
}

// isLate reports whether the message comes, as event seq, to a call that was over: an
// answer after it was cancelled or answered, progress after its answer.
func (m EntryMessage) isLate(seq uint64) bool {
	switch {
	case m.Call == nil:
		return false
	case m.Kind == transport.Response:
		return m.Request == 0 || 0 < m.Call.Cancelled && m.Call.Cancelled < seq
	}
	return m.Method == methodProgress && 0 < m.Call.Response && m.Call.Response < seq
}

// failure returns what went wrong according to a response; "" when nothing did.
func failure(m transport.Message, method string) string {
	if m.Error != nil {
		var e struct {
			Code    json.Number `json:"code"`
			Message string      `json:"message"`
		}
		// What does not fit is left out: the raw event has it.
		_ = json.Unmarshal(m.Error, &e)
		return strings.TrimSpace(fmt.Sprintf("error %s %s", e.Code, clip(e.Message)))
	}
	if method == "tools/call" && string(transport.Member(m.Result, "isError")) == "true" {
		return "tool error"
	}
	return ""
}
