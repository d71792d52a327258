package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// MessageKind tells the JSON-RPC messages apart.
type MessageKind uint8

const (
	// Invalid: a JSON value that is no JSON-RPC message.
	Invalid MessageKind = iota
	// Request has a method and an id.
	Request
	// Notification has a method and no id.
	Notification
	// Response has an id and a result or an error.
	Response
)

// String returns the kind in lower case.
func (k MessageKind) String() string {
	return [...]string{"invalid", "request", "notification", "response"}[k]
}

// ErrNotJSON is returned by Messages for a frame that is not JSON at all, such
// as a stray log line or a blank one.
var ErrNotJSON = errors.New("not JSON")

// Message is a parsed view of a frame, or of one element of a batch. Its fields
// are the raw JSON of the members, so that numbers beyond 2^53 and every
// spelling survive; a member that is absent is nil. Of a duplicate key the last
// counts, as all servers measured take it; Raw still has both.
type Message struct {
	Raw    json.RawMessage // the whole message
	ID     json.RawMessage // of a request or response; `null` is kept
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// Messages parses the frame: one message, or the elements of a batch (revision
// 2025-03-26, also the empty one). It returns ErrNotJSON for other bytes. What is
// returned aliases the frame.
func (f Frame) Messages() ([]Message, error) {
	b := bytes.TrimSpace(f.Bytes)
	if len(b) == 0 || b[0] != '{' && b[0] != '[' {
		if json.Valid(b) {
			return []Message{{Raw: b}}, nil
		}
		return nil, ErrNotJSON
	}
	if b[0] == '{' {
		m, err := parseMessage(b)
		if err != nil {
			return nil, err
		}
		return []Message{m}, nil
	}
	var elements []json.RawMessage
	if err := json.Unmarshal(b, &elements); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNotJSON, err)
	}
	messages := make([]Message, len(elements))
	for i, e := range elements {
		m, err := parseMessage(e)
		if err != nil {
			m = Message{Raw: e}
		}
		messages[i] = m
	}
	return messages, nil
}

func parseMessage(b []byte) (Message, error) {
	var members map[string]json.RawMessage // a struct would match keys in any case
	if err := json.Unmarshal(b, &members); err != nil {
		return Message{}, fmt.Errorf("%w: %v", ErrNotJSON, err)
	}
	m := Message{Raw: b, ID: members["id"], Params: members["params"], Result: members["result"], Error: members["error"]}
	if raw, ok := members["method"]; ok {
		if json.Unmarshal(raw, &m.Method) != nil {
			m.Method = ""
		}
	}
	return m, nil
}

// Kind says what the message is.
func (m Message) Kind() MessageKind {
	switch {
	case m.Method != "" && m.ID != nil:
		return Request
	case m.Method != "":
		return Notification
	case m.ID != nil && (m.Result != nil || m.Error != nil):
		return Response
	case m.Error != nil: // an error for a request whose id could not be read
		return Response
	}
	return Invalid
}

// ProgressToken returns the raw progress token: of a request that asks for
// progress (params._meta.progressToken), or of a progress notification
// (params.progressToken). nil when there is none.
func (m Message) ProgressToken() json.RawMessage {
	if m.Method == "notifications/progress" {
		return Member(m.Params, "progressToken")
	}
	return Member(m.Params, "_meta", "progressToken")
}

// Member follows object keys into raw JSON and returns the raw value there, or
// nil.
func Member(raw json.RawMessage, path ...string) json.RawMessage {
	for _, key := range path {
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil {
			return nil
		}
		raw = object[key]
	}
	return raw
}
