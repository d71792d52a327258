package order

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Parsed is a frame as the rules read it: one that [Parse] reads, or one of a recorded session, whose
// messages [Parsed.Set] takes from its step.
type Parsed struct {
	Messages []transport.Message // of Parse; nil for a frame of other bytes than JSON
	Batch    bool
	read     []message
}

// message is a message with the members read by several rules.
type message struct {
	transport.Message
	kind          transport.MessageKind
	stream        uint64 // the HTTP exchange; 0 on a pipe
	id            mcp.Key
	progressToken json.RawMessage
	token         mcp.Key         // of progressToken
	cancelled     json.RawMessage // the id of the cancelled request
	cancels       mcp.Key         // of cancelled
	version       string          // the revision in the _meta of a stateless session's request
}

// Parse reads a frame.
func Parse(frame transport.Frame) Parsed {
	messages, err := frame.Messages()
	if err != nil {
		return Parsed{}
	}
	p := Parsed{Messages: messages, Batch: frame.IsBatch()}
	p.read = make([]message, len(messages))
	for i, m := range messages {
		p.read[i] = message{Message: m, kind: m.Kind(), stream: frame.Stream, id: mcp.KeyOf(m.ID)}
		p.read[i].readParams()
	}
	return p
}

// Set makes p the frame of a step, in the memory of the frame before. It is good until the next Set.
func (p *Parsed) Set(step timeline.Step) {
	p.Batch = step.Batch
	p.read = p.read[:0]
	for i := range step.Messages {
		m := message{Message: step.Messages[i].Message, kind: step.Messages[i].Kind, stream: step.Stream}
		if call := step.Messages[i].Call; m.kind == transport.Request && call != nil {
			m.id = call.Key()
		} else {
			m.id = mcp.KeyOf(m.ID)
		}
		m.readParams()
		p.read = append(p.read, m)
	}
}

// readParams reads the params of a request, or of a notification.
func (m *message) readParams() {
	if m.kind != transport.Request && m.kind != transport.Notification {
		return
	}
	m.progressToken = m.ProgressToken()
	m.token = mcp.KeyOf(m.progressToken)
	if m.Method == mcp.NotificationCancelled {
		m.cancelled = transport.Member(m.Params, mcp.MemberRequestID)
		m.cancels = mcp.KeyOf(m.cancelled)
	}
	if bytes.Contains(m.Params, []byte(mcp.MetaProtocolVersion)) { // most have none, and looking is cheap
		m.version = transport.MemberText(m.Params, mcp.MemberMeta, mcp.MetaProtocolVersion)
	}
}

// On returns the frame as one of an HTTP exchange. The messages are the same ones.
func (p Parsed) On(stream uint64) Parsed {
	p.read = slices.Clone(p.read)
	for i := range p.read {
		p.read[i].stream = stream
	}
	return p
}

// Keys returns the part of a frame for [Checker.Refuse], without sharing bytes.
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
