package schema

import (
	"bytes"
	"encoding/json"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Envelope returns the faults of the members around what a method defines: the id, the params and their
// _meta, a result or an error. Every reader parses these before it looks for the request, and a strict one
// drops the message: the other end waits on. No schema is read, and Path and Text are as of [Validator.Check].
// isMCP says that the protocol is MCP; to another protocol of JSON-RPC a result may be any JSON.
func Envelope(m *transport.Message, isMCP bool) (faults []Fault) {
	if isPlain(m) {
		return nil
	}
	add := func(path, text string) { faults = append(faults, Fault{Path: path, Text: text}) }
	want := func(path string, value json.RawMessage, isOf func(json.RawMessage) bool, types string) {
		if value != nil && !isOf(value) {
			add(path, "got "+typeOfRaw(value)+", want "+types)
		}
	}
	if string(m.ID) != "null" { // of a request that is rule P2's, of a response P1's
		want("/id", m.ID, func(id json.RawMessage) bool { return id[0] == '"' || isNumber(id) }, "string or number")
	}
	if m.Params != nil && isMCP {
		want("/params", m.Params, isObject, "object")
		if meta := memberMeta(m.Params); meta != nil {
			want("/params/"+mcp.MemberMeta, meta, isObject, "object")
			want("/params/"+mcp.MemberMeta+"/"+mcp.MemberProgressToken, transport.Member(meta, mcp.MemberProgressToken),
				func(token json.RawMessage) bool { return token[0] == '"' || isNumber(token) }, "string or number")
		}
	}
	if m.Kind() != transport.Response {
		return faults
	}
	switch {
	case m.Error != nil && m.Result != nil:
		add("", "it has a result and an error")
	case m.Error == nil && bytes.Contains(m.Raw, []byte(`"error"`)) && transport.Member(m.Raw, "error") != nil:
		add("/error", "got null beside a result, want no such member")
	}
	if m.Error != nil {
		want("/error", m.Error, isObject, "object")
		if isObject(m.Error) {
			code, words := transport.Member(m.Error, "code"), transport.Member(m.Error, "message")
			if code == nil || words == nil {
				add("/error", "missing a code or a message")
			}
			want("/error/code", code, isInteger, "integer")
			want("/error/message", words, func(text json.RawMessage) bool { return text[0] == '"' }, "string")
		}
		return faults
	}
	if isMCP {
		want("/result", m.Result, isObject, "object")
		want("/result/"+mcp.MemberMeta, memberMeta(m.Result), isObject, "object")
	}
	return faults
}

// isPlain reports, without parsing a message, that it has the usual form and so no fault. It is false for a
// message that must be parsed to tell.
func isPlain(m *transport.Message) bool {
	meta := []byte(`"` + mcp.MemberMeta + `"`)
	switch token := m.ProgressToken(); {
	case m.ID != nil && m.ID[0] != '"' && !isNumber(m.ID), m.Error != nil:
		return false
	case m.Params != nil && !isObject(m.Params):
		return false
	case m.Params != nil && (token == nil || m.Method == mcp.NotificationProgress) && bytes.Contains(m.Params, meta): // a token of a request stands in _meta
		return false
	case token != nil && token[0] != '"' && !isNumber(token):
		return false
	}
	return m.Result == nil || isObject(m.Result) && !bytes.Contains(m.Result, meta) && !bytes.Contains(m.Raw, []byte(`"error"`))
}

// memberMeta returns the _meta of an object. Most have none, which shows without parsing.
func memberMeta(object json.RawMessage) json.RawMessage {
	if !isObject(object) || !bytes.Contains(object, []byte(`"`+mcp.MemberMeta+`"`)) {
		return nil
	}
	return transport.Member(object, mcp.MemberMeta)
}

func isObject(value json.RawMessage) bool { return value[0] == '{' }

func isNumber(value json.RawMessage) bool {
	return value[0] == '-' || '0' <= value[0] && value[0] <= '9'
}

// isInteger reports whether a number has no fraction; 1.0 and 1e2 have none.
func isInteger(value json.RawMessage) bool {
	return isNumber(value) && bytes.IndexByte([]byte(mcp.Decimal(string(value))), '.') < 0
}

// typeOfRaw names the type of a JSON value as JSON Schema does.
func typeOfRaw(value json.RawMessage) string {
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
