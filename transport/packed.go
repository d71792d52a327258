package transport

import "encoding/json"

// Packed is a message that takes half the room of a [Message]: it knows where in its
// bytes the members are. Who holds a hundred thousand messages holds them so.
type Packed struct {
	raw    []byte
	method string

	id, params, result, fault, token span
}

// span is where a value is in its message; the zero span is absent.
type span struct{ from, to uint32 }

// maxMessage is how long a message may be whose spans are known.
const maxMessage = 1<<32 - 1

// Pack reads a message that is valid JSON, as Raw of a Message is.
func Pack(raw json.RawMessage) Packed { return packMessage(raw) }

// Message returns the message. It costs next to nothing.
func (p Packed) Message() Message {
	return Message{
		Raw: p.raw, ID: p.cut(p.id), Method: p.method, Params: p.cut(p.params),
		Result: p.cut(p.result), Error: p.cut(p.fault), token: p.cut(p.token), looked: true,
	}
}

func (p Packed) cut(s span) json.RawMessage {
	if s.to == 0 {
		return nil
	}
	return p.raw[s.from:s.to:s.to]
}

// packMessage reads the members of valid JSON. It is written by hand because a
// projection of a million frames spends most of its time here: a struct would
// match keys in any case, and a map costs five times as much.
func packMessage(b []byte) Packed {
	p := Packed{raw: b}
	for key, at := range spans(b) {
		switch key {
		case "id":
			p.id = at
		case "method":
			p.method = ""
			if b[at.from] == '"' {
				p.method = methodText(b[at.from:at.to])
			}
		case "params":
			p.params = at
		case "result":
			p.result = at
		case "error":
			p.fault = at
		}
	}
	p.token = p.findToken()
	return p
}

// findToken looks for the progress token once: who follows a session asks for it
// several times. Most messages have none, which shows without reading them.
func (p *Packed) findToken() span {
	params := p.cut(p.params)
	if !mayHaveToken(params) {
		return span{}
	}
	path := []string{"_meta", "progressToken"}
	if p.method == "notifications/progress" {
		path = path[1:]
	}
	at := p.params
	for _, key := range path {
		found := span{}
		for k, s := range spans(p.cut(at)) {
			if k == key {
				found = span{at.from + s.from, at.from + s.to}
			}
		}
		if at = found; at.to == 0 {
			break
		}
	}
	return at
}
