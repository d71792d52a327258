package store

import (
	"bytes"
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// HTTPInfo is the payload of an HTTP event: the HTTP transports' words around a frame. The
// event's Stream is the number of the exchange, from 1: a request, the response, and the
// events of a response stream. Frames of the exchange carry the same number; Dir is the
// direction of the actor.
type HTTPInfo struct {
	// What happened, one of the HTTP… constants.
	What string `json:"what"`
	// Method and Path (with its query) of a request.
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
	// Status of a response.
	Status int `json:"status,omitempty"`
	// Header has the headers of interest to MCP, with canonical names. The values of
	// credentials are replaced before.
	Header map[string][]string `json:"header,omitempty"`
	// Length is the number of bytes of the body as its head announces it, where the head passed
	// before the end of the body did; 0: not known.
	Length int64 `json:"length,omitempty"`
	// Body is a body that is no frame, or a piece of a body: an error page, "Accepted", or the
	// data of a server-sent event that is no message. Body64 has a body of other bytes than UTF-8.
	Body   string `json:"body,omitempty"`
	Body64 []byte `json:"body64,omitempty"`
	// Coding is the content coding of a Body64 that could not be decoded.
	Coding string `json:"coding,omitempty"`
	// Other marks a request that does not look like MCP, such as a login: the bodies of its
	// exchange are no frames, except a stream of events.
	Other bool `json:"other,omitempty"`
	// Dropped is, at the end of an exchange, the number of bytes over the user's limit.
	Dropped int64 `json:"dropped,omitempty"`
	// SSE has a server-sent event without the value of the data.
	SSE *SSEInfo `json:"sse,omitempty"`
	// Error is the cause of a cut.
	Error string `json:"error,omitempty"`
}

// SetBody sets Body, or Body64 if data is not UTF-8.
func (h *HTTPInfo) SetBody(data []byte) {
	h.Body = string(data)
	h.Body64 = nil
	if !utf8.Valid(data) {
		h.Body, h.Body64 = "", bytes.Clone(data)
	}
}

// Values of HTTPInfo.What.
const (
	HTTPRequest  = "request"  // a request began; the body follows as a frame
	HTTPInterim  = "interim"  // a status before the answer's came, as 103
	HTTPResponse = "response" // the status and the headers of the answer came
	HTTPEvent    = "event"    // a server-sent event with more than a frame; a frame follows
	HTTPBody     = "body"     // a stretch of a body, no frame
	HTTPEnd      = "end"      // the response ended in order
	HTTPAbort    = "abort"    // the client hung up
	HTTPBroken   = "broken"   // the server did
	HTTPNone     = "none"     // no response came
	HTTPLeft     = "left"     // the recorder ended before the exchange did
)

// SSEInfo is a server-sent event without the data. It is nil for the usual form: "event:
// message", the data on one line, a blank line, "\n" as line ends and a blank after each
// colon.
type SSEInfo struct {
	Event string `json:"event,omitempty"`
	ID    string `json:"id,omitempty"`
	Retry string `json:"retry,omitempty"`
	// Lines are the event's lines; of data lines only the name, the colon and the blank after
	// it, if any. The values are in the frame.
	Lines []string `json:"lines,omitempty"`
	// EOL is a line end other than "\n".
	EOL string `json:"eol,omitempty"`
	// Raw replaces Lines and EOL for mixed line ends and for bytes that are not UTF-8. Raw is
	// the event without the values of the data.
	Raw []byte `json:"raw,omitempty"`
	// Frame is the Seq of an earlier frame of the event, which was too long to be held until
	// the end.
	Frame uint64 `json:"frame,omitempty"`
}

// appendJSON appends the JSON of h. The code is by hand because several of these
// events stand on the path of every exchange, and takes a tenth of the library's time.
func (h *HTTPInfo) appendJSON(data []byte) []byte {
	data = append(data, `{"what":`...)
	data = appendText(data, h.What)
	data = appendField(data, "method", h.Method)
	data = appendField(data, "path", h.Path)
	if h.Status != 0 {
		data = append(data, `,"status":`...)
		data = strconv.AppendInt(data, int64(h.Status), 10)
	}
	if len(h.Header) > 0 {
		data = appendHeader(append(data, `,"header":`...), h.Header)
	}
	if h.Length != 0 {
		data = append(data, `,"length":`...)
		data = strconv.AppendInt(data, h.Length, 10)
	}
	data = appendField(data, "body", h.Body)
	data = appendBase64(data, "body64", h.Body64)
	data = appendField(data, "coding", h.Coding)
	if h.Other {
		data = append(data, `,"other":true`...)
	}
	if h.Dropped != 0 {
		data = append(data, `,"dropped":`...)
		data = strconv.AppendInt(data, h.Dropped, 10)
	}
	if h.SSE != nil {
		data = h.SSE.appendJSON(append(data, `,"sse":`...))
	}
	data = appendField(data, "error", h.Error)
	return append(data, '}')
}

func (s *SSEInfo) appendJSON(data []byte) []byte {
	from := len(data)
	data = appendField(data, "event", s.Event)
	data = appendField(data, "id", s.ID)
	data = appendField(data, "retry", s.Retry)
	if len(s.Lines) > 0 {
		data = appendList(append(data, `,"lines":`...), s.Lines)
	}
	data = appendField(data, "eol", s.EOL)
	data = appendBase64(data, "raw", s.Raw)
	if s.Frame != 0 {
		data = append(data, `,"frame":`...)
		data = strconv.AppendUint(data, s.Frame, 10)
	}
	if len(data) == from {
		data = append(data, ',')
	}
	data[from] = '{'
	return append(data, '}')
}

func appendHeader(data []byte, h map[string][]string) []byte {
	var room [16]string
	names := slices.AppendSeq(room[:0], maps.Keys(h))
	slices.Sort(names)
	for i, name := range names {
		data = append(data, "{,"[min(i, 1)])
		data = append(appendText(data, name), ':')
		data = appendList(data, h[name])
	}
	return append(data, '}')
}

func appendList(data []byte, list []string) []byte {
	if list == nil {
		return append(data, "null"...)
	}
	data = append(data, '[')
	for _, s := range list {
		data = append(appendText(data, s), ',')
	}
	return append(bytes.TrimSuffix(data, []byte{','}), ']')
}

func appendField(data []byte, name, value string) []byte {
	if value == "" {
		return data
	}
	data = append(append(append(data, `,"`...), name...), `":`...)
	return appendText(data, value)
}

func appendBase64(data []byte, name string, value []byte) []byte {
	if len(value) == 0 {
		return data
	}
	data = append(append(append(data, `,"`...), name...), `":"`...)
	return append(base64.StdEncoding.AppendEncode(data, value), '"')
}

// appendText appends a string; the library escapes unusual ones.
func appendText(data []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return append(data, EncodePayload(s)...)
		}
	}
	data = append(data, '"')
	data = append(data, s...)
	return append(data, '"')
}
