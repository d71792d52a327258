package transport

import (
	"bytes"
	"encoding/json"
	"errors"
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

	token  json.RawMessage // the progress token, when it was looked for
	looked bool
}

// Messages parses the frame: one message, or the elements of a batch (revision
// 2025-03-26, also the empty one). It returns ErrNotJSON for other bytes, and for
// 4 GiB and more of them. What is returned aliases the frame.
func (f Frame) Messages() ([]Message, error) {
	b := bytes.TrimSpace(f.Bytes)
	if uint64(len(b)) > maxMessage || !valid(b) {
		return nil, ErrNotJSON
	}
	if b[0] != '[' {
		return []Message{parseMessage(b)}, nil
	}
	messages := []Message{}
	for i := blank(b, 1); b[i] != ']'; {
		end := value(b, i)
		messages = append(messages, parseMessage(b[i:end:end]))
		if i = blank(b, end); b[i] == ',' {
			i = blank(b, i+1)
		}
	}
	return messages, nil
}

// parseMessage reads a message from valid JSON.
func parseMessage(b []byte) Message { return packMessage(b).Message() }

// findToken looks for the token of a message that was not parsed from a frame.
func (m *Message) findToken() json.RawMessage {
	switch {
	case !mayHaveToken(m.Params):
		return nil
	case m.Method == "notifications/progress":
		return Member(m.Params, "progressToken")
	}
	return Member(m.Params, "_meta", "progressToken")
}

func mayHaveToken(params []byte) bool {
	return bytes.Contains(params, []byte("progressToken")) || bytes.IndexByte(params, '\\') >= 0
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
	if m.looked {
		return m.token
	}
	return m.findToken()
}

// Member follows object keys into raw JSON and returns the raw value there, or
// nil. raw must be valid JSON or empty.
func Member(raw json.RawMessage, path ...string) json.RawMessage {
	for _, key := range path {
		var found json.RawMessage
		for k, v := range members(raw) {
			if k == key {
				found = v
			}
		}
		if raw = found; raw == nil {
			return nil
		}
	}
	return raw
}
