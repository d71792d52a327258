package timeline

import (
	"bytes"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Mask returns a frame or a message without its secrets. The result is the argument itself if there are none.
// A nil Mask finds none.
//
// To read is not to show: to mask a frame takes longer than to read it, and a view quotes few. So a view that
// reads a whole session may get the messages as they were recorded, with a Mask, and must quote nothing but what
// passed it. What the Model keeps in words has passed it: the [Call.Target], the [Call.Failure], the [Task.Message],
// the text of a [Body], the payload of a frame that is no JSON. [Message.Shown] is a message to quote.
//
// Ids, methods, progress tokens and cursors, the names of tools and prompts, and the revision are no secrets, and
// need no Mask.
type Mask func(data []byte) []byte

// Masked makes the Model mask what it keeps in words. Call it before the first event.
func (m *Model) Masked(mask Mask) { m.mask = mask }

// Mask returns the mask of the model, for what a reader keeps to quote it later.
func (s Step) Mask() Mask {
	if s.model == nil {
		return nil
	}
	return s.model.mask
}

// Of returns data without secrets.
func (mask Mask) Of(data []byte) []byte {
	if mask == nil {
		return data
	}
	return mask(data)
}

// Text is Of for a text.
func (mask Mask) Text(s string) string {
	if mask == nil {
		return s
	}
	return string(mask([]byte(s)))
}

// Message returns a message without its secrets.
func (mask Mask) Message(message *transport.Message) transport.Message {
	if mask == nil || message.Raw == nil {
		return *message
	}
	masked := mask(message.Raw)
	if bytes.Equal(masked, message.Raw) {
		return *message
	}
	messages, err := transport.Frame{Bytes: masked}.Messages()
	if err != nil || len(messages) != 1 { // a Mask keeps JSON valid
		return transport.Message{Raw: masked, ID: message.ID, Method: message.Method}
	}
	return messages[0]
}

// Event returns an event without its secrets.
func (mask Mask) Event(event store.Event) store.Event {
	size := event.Size()
	event.Payload = mask.Of(event.Payload)
	if len(event.Payload) != size {
		event.RecordedSize = size
	}
	return event
}

// Target is [TargetOf] a message without secrets.
func (mask Mask) Target(message *transport.Message) string {
	target := TargetOf(*message)
	if target != "" && mask.hides(message.Method) {
		target = TargetOf(mask.Message(message))
	}
	return target
}

// hides reports whether the target of a method may have secrets: it is no name.
func (mask Mask) hides(method string) bool {
	return mask != nil && method != mcp.MethodCallTool && method != mcp.MethodGetPrompt
}

// Shown returns the message without its secrets.
func (m *Message) Shown() transport.Message { return m.mask.Message(&m.Message) }

// ShownTarget is [TargetOf] the message without its secrets.
func (m *Message) ShownTarget() string {
	if m.Role == Asks {
		return m.Call.Target
	}
	return m.mask.Target(&m.Message)
}
