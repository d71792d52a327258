package transport

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/mcprec/mcprec/transport/mcp"
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
// are the raw JSON of the members, so numbers beyond 2^53 and every spelling
// survive; an absent member is nil, and so is an error of null. Of a duplicate key
// the last counts, as in every server measured; Raw still has both.
type Message struct {
	Raw    json.RawMessage // the whole message
	ID     json.RawMessage // of a request or response; `null` is kept
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage

	token  json.RawMessage // the progress token, once looked for
	looked bool
}

// Messages parses the frame: one message, or the elements of a batch (revision
// 2025-03-26, also the empty batch). It returns ErrNotJSON for other bytes, and for
// 4 GiB or more. The messages alias the frame.
func (f Frame) Messages() ([]Message, error) { return f.AppendMessages([]Message{}) }

// IsBatch reports whether the bytes begin as a batch does, in brackets.
func (f Frame) IsBatch() bool {
	return bytes.HasPrefix(TrimBlanks(f.text()), []byte("["))
}

// ByteOrderMark is at the beginning of some HTTP bodies, before the JSON. It should not be there, but clients
// pass over it.
const ByteOrderMark = "\xef\xbb\xbf"

// text returns the bytes in which the messages are.
func (f Frame) text() []byte {
	if f.Stream == 0 {
		return f.Bytes
	}
	return bytes.TrimPrefix(f.Bytes, []byte(ByteOrderMark))
}

// AppendMessages is Messages, and appends the messages to a slice. A reader of many frames can
// give the same slice again.
func (f Frame) AppendMessages(messages []Message) ([]Message, error) {
	b := TrimBlanks(f.text())
	if len(b) == 0 || uint64(len(b)) > maxSpan {
		return nil, ErrNotJSON
	}
	if b[0] == '{' { // checked and read in one pass
		p := Packed{raw: b}
		if validObject(b, 0, 1, p.set) != len(b) {
			return nil, ErrNotJSON
		}
		p.setToken()
		return append(messages, p.Message()), nil
	}
	if !Valid(b) {
		return nil, ErrNotJSON
	}
	if b[0] != '[' {
		return append(messages, Message{Raw: b, looked: true}), nil
	}
	for _, at := range elements(b) {
		messages = append(messages, Pack(b[at.from:at.to:at.to]).Message())
	}
	return messages, nil
}

// Kind returns the kind of the message.
func (m Message) Kind() MessageKind {
	switch {
	case m.Method != "" && m.ID != nil:
		return Request
	case m.Method != "":
		return Notification
	case m.ID != nil && (m.Result != nil || m.Error != nil):
		return Response
	case len(m.Error) > 0 && m.Error[0] == '{': // the id of its request could not be read; a login's {"error":"invalid_token"} is no message
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
	at := findToken(m.Method, m.Params)
	return Packed{raw: m.Params}.cut(at)
}

// Member follows object keys into raw JSON and returns the raw value there, or
// nil. raw must be valid JSON or empty.
func Member(raw json.RawMessage, path ...string) json.RawMessage {
	for _, key := range path {
		var found json.RawMessage
		for quoted, at := range quotedSpans(raw) {
			if isKey(quoted, key) {
				found = raw[at.from:at.to:at.to]
			}
		}
		raw = found
		if raw == nil {
			return nil
		}
	}
	return raw
}

// Text returns the value of a JSON string, and false for any other value.
func Text(raw json.RawMessage) (text string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	for _, c := range raw {
		if c == '\\' || c >= 0x80 {
			err := json.Unmarshal(raw, &text)
			return text, err == nil
		}
	}
	return string(raw[1 : len(raw)-1]), true
}

// MemberText is Member for a JSON string: it returns its value, or "" for any other value.
func MemberText(raw json.RawMessage, path ...string) string {
	text, _ := Text(Member(raw, path...))
	return text
}

// Packed is a message in half the memory of a [Message]: it has the places of the
// members in the raw bytes. Projections of many messages hold them packed.
type Packed struct {
	raw    []byte
	method string

	id, params, result, fault, token span
}

// span is the place of a value in a message; the zero span is absent.
type span struct{ from, to uint32 }

// maxSpan is the maximum length of a message that is parsed, given the size of a span.
const maxSpan = 1<<32 - 1

// Message returns the message. It costs next to nothing.
func (p Packed) Message() Message {
	return Message{
		Raw: p.raw, ID: p.cut(p.id), Method: p.method, Params: p.cut(p.params),
		Result: p.cut(p.result), Error: p.cut(p.fault), token: p.cut(p.token), looked: true,
	}
}

func (p Packed) cut(span span) json.RawMessage {
	if span.to == 0 {
		return nil
	}
	return p.raw[span.from:span.to:span.to]
}

// Pack reads a message of valid JSON, such as Raw of a Message. It is written by hand
// because a projection of a million frames spends most of the time here:
// encoding/json would match keys in any case, and a map costs five times as much.
func Pack(raw json.RawMessage) Packed {
	p := Packed{raw: raw}
	for key, at := range spans(raw) {
		p.set(key, at)
	}
	p.setToken()
	return p
}

// set notes the place of a member.
func (p *Packed) set(key string, at span) {
	switch key {
	case "id":
		p.id = at
	case "method":
		p.method = ""
		if p.raw[at.from] == '"' {
			p.method = methodText(p.raw[at.from:at.to])
		}
	case "params":
		p.params = at
	case "result":
		p.result = at
	case "error":
		p.fault = at
		if p.raw[at.from] == 'n' { // null, which many serializers write where there is none
			p.fault = span{}
		}
	}
}

// setToken looks for the progress token, once: readers of a session ask for it several times.
func (p *Packed) setToken() {
	if at := findToken(p.method, p.cut(p.params)); at.to != 0 {
		p.token = span{p.params.from + at.from, p.params.from + at.to}
	}
}

// findToken returns the place of the progress token in the params of a message. Most
// messages have none, which shows without parsing.
func findToken(method string, params json.RawMessage) span {
	if !bytes.Contains(params, []byte(mcp.MemberProgressToken)) && bytes.IndexByte(params, '\\') < 0 {
		return span{}
	}
	path := []string{mcp.MemberMeta, mcp.MemberProgressToken}
	if method == mcp.NotificationProgress {
		path = path[1:]
	}
	at := span{0, uint32(len(params))}
	for _, key := range path {
		found := span{}
		for k, s := range spans(params[at.from:at.to]) {
			if k == key {
				found = span{at.from + s.from, at.from + s.to}
			}
		}
		at = found
		if at.to == 0 {
			break
		}
	}
	return at
}
