package order

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
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
	stream        uint64 // the HTTP exchange; 0 on a pipe
	id            mcp.Key
	progressToken json.RawMessage
	token         mcp.Key
	cancelled     json.RawMessage // the id of the request that it cancels
	cancels       mcp.Key
	version       string // the revision that a request of a stateless session names
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
		p.read[i].stream = f.Stream
	}
	return p
}

// Keys returns what [Checker.Refuse] asks of a frame, and holds none of its bytes.
func (p Parsed) Keys() Parsed {
	keys := Parsed{read: make([]message, len(p.read))}
	for i, m := range p.read {
		keys.read[i] = message{
			Message: transport.Message{Method: strings.Clone(m.Method)},
			kind:    m.kind, stream: m.stream, id: m.id, token: m.token, cancels: m.cancels,
		}
	}
	return keys
}

func read(m transport.Message) message {
	r := message{Message: m, kind: m.Kind(), id: mcp.KeyOf(m.ID)}
	if r.kind == transport.Response || r.kind == transport.Invalid {
		return r
	}
	r.progressToken = m.ProgressToken()
	r.token = mcp.KeyOf(r.progressToken)
	if m.Method == methodCancelled {
		r.cancelled = transport.Member(m.Params, "requestId")
		r.cancels = mcp.KeyOf(r.cancelled)
	}
	if bytes.Contains(m.Params, []byte(metaVersion)) { // most have none, and looking is cheap
		r.version = text(transport.Member(m.Params, "_meta", metaVersion))
	}
	return r
}
