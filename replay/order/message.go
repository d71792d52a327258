package order

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Parsed is a frame, parsed once by [Parse] for every user, and never changed. Messages is
// nil for a frame of other bytes than JSON.
type Parsed struct {
	Messages []transport.Message
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
		r := message{Message: m, kind: m.Kind(), stream: frame.Stream, id: mcp.KeyOf(m.ID)}
		if r.kind == transport.Request || r.kind == transport.Notification {
			r.progressToken = m.ProgressToken()
			r.token = mcp.KeyOf(r.progressToken)
			if m.Method == mcp.NotificationCancelled {
				r.cancelled = transport.Member(m.Params, mcp.MemberRequestID)
				r.cancels = mcp.KeyOf(r.cancelled)
			}
			if bytes.Contains(m.Params, []byte(mcp.MetaProtocolVersion)) { // most have none, and looking is cheap
				r.version = transport.MemberText(m.Params, mcp.MemberMeta, mcp.MetaProtocolVersion)
			}
		}
		p.read[i] = r
	}
	return p
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
