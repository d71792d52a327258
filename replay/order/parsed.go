package order

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

// Parsed is what a checker reads of a frame. [Parse] makes it, once for all who
// want it: it is never changed. Messages is nil for a frame that is not JSON.
type Parsed struct {
	Messages []transport.Message
	Batch    bool
	read     []message
}

// message is a message with what the rules ask of it again and again.
type message struct {
	transport.Message
	kind          transport.MessageKind
	id            string // as a key
	progressToken json.RawMessage
	token         string          // as a key
	cancelled     json.RawMessage // the id of the request that it cancels
	cancels       string          // as a key
	version       string          // the revision that a request of a stateless session names
}

// Parse reads a frame.
func Parse(f transport.Frame) Parsed {
	messages, err := f.Messages()
	if err != nil {
		return Parsed{}
	}
	p := Parsed{Messages: messages, Batch: bytes.TrimLeft(f.Bytes, " \t\r\n")[0] == '['}
	p.read = make([]message, len(messages))
	for i, m := range messages {
		p.read[i] = read(m)
	}
	return p
}

func read(m transport.Message) message {
	r := message{Message: m, kind: m.Kind(), id: key(m.ID)}
	if r.kind == transport.Response || r.kind == transport.Invalid {
		return r
	}
	r.progressToken = m.ProgressToken()
	r.token = key(r.progressToken)
	if m.Method == methodCancelled {
		r.cancelled = transport.Member(m.Params, "requestId")
		r.cancels = key(r.cancelled)
	}
	if bytes.Contains(m.Params, []byte(metaVersion)) { // most have none, and looking is cheap
		r.version = text(transport.Member(m.Params, "_meta", metaVersion))
	}
	return r
}

// Key returns what the spellings of an id, or of a progress token, have in common.
func Key(raw json.RawMessage) string { return key(raw) }

// key makes the spellings of one id, or of one token, equal: peers write numbers
// and strings anew.
func key(raw json.RawMessage) string {
	s := string(raw)
	switch {
	case s == "":
	case s[0] == '"' && strings.IndexByte(s, '\\') >= 0:
		var text string
		if json.Unmarshal(raw, &text) == nil {
			return strconv.Quote(text)
		}
	case s[0] != '"' && strings.ContainsAny(s, ".eE"):
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return strconv.FormatFloat(f, 'f', -1, 64)
		}
	}
	return s
}
