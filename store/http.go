package store

import (
	"bytes"
	"unicode/utf8"
)

// HTTPInfo is the payload of an HTTP event: what the HTTP transports say around a
// frame. The event's Stream is the number of the exchange, from 1: a request, its
// response, and all events of a stream that is the response. Frames of the exchange
// carry the same number; its Dir is that of who acted.
type HTTPInfo struct {
	// What happened, one of the HTTP… constants.
	What string `json:"what"`
	// Method and Path (with its query) of a request.
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
	// Status of a response.
	Status int `json:"status,omitempty"`
	// Header has the headers that matter to MCP, with canonical names. A credential is never
	// among them: its value is replaced before it comes here.
	Header map[string][]string `json:"header,omitempty"`
	// Body is a body, a stretch or the rest of one, that is no frame: an error page,
	// "Accepted"; of a server-sent event that is no message, the data. Body64 is it
	// when it is not UTF-8.
	Body   string `json:"body,omitempty"`
	Body64 []byte `json:"body64,omitempty"`
	// Coding is the content coding that Body64 still has: it could not be decoded.
	Coding string `json:"coding,omitempty"`
	// Other says of a request that it does not look like MCP's, such as a login: the bodies
	// of its exchange are no frames, but for a stream of events.
	Other bool `json:"other,omitempty"`
	// Withheld is Other in recordings of release 0.1, which have no such bodies.
	Withheld bool `json:"withheld,omitempty"`
	// Dropped is, at the end of an exchange, how many bytes of its bodies are not in
	// the log because of a limit that the user has set.
	Dropped int64 `json:"dropped,omitempty"`
	// SSE is, of a server-sent event, all but the value of its data.
	SSE *SSEInfo `json:"sse,omitempty"`
	// Error is the cause of a cut.
	Error string `json:"error,omitempty"`
}

// SetBody puts b where it fits.
func (h *HTTPInfo) SetBody(b []byte) {
	if h.Body, h.Body64 = string(b), nil; !utf8.Valid(b) {
		h.Body, h.Body64 = "", bytes.Clone(b)
	}
}

// What an HTTP event tells.
const (
	HTTPRequest  = "request"  // a request began; its body follows as a frame
	HTTPInterim  = "interim"  // a status came that is not the answer's, as 103
	HTTPResponse = "response" // the status and the headers of the answer came
	HTTPEvent    = "event"    // a server-sent event that is more than its frame, which follows if there is one
	HTTPBody     = "body"     // a stretch of a body that is no frame
	HTTPEnd      = "end"      // the response ended as it should
	HTTPAbort    = "abort"    // the client hung up
	HTTPBroken   = "broken"   // the server did
	HTTPNone     = "none"     // no response came
	HTTPLeft     = "left"     // the recorder ended before the exchange did
)

// SSEInfo is a server-sent event without its data. An event that is just
// "event: message", its data on one line and a blank line, with "\n" as line ends
// and a blank after each colon, has none.
type SSEInfo struct {
	Event string `json:"event,omitempty"`
	ID    string `json:"id,omitempty"`
	Retry string `json:"retry,omitempty"`
	// Lines are the event's lines as they came; of data lines only the name, with
	// the colon and the blank after it, if any. The values are the frame's lines.
	Lines []string `json:"lines,omitempty"`
	// EOL is the line end when it is not "\n".
	EOL string `json:"eol,omitempty"`
	// Raw stands for Lines and EOL where they cannot tell: line ends of several kinds,
	// bytes that are not UTF-8. It is the event's bytes without the values of its data.
	Raw []byte `json:"raw,omitempty"`
	// Frame is the Seq of the event's frame where that stands before: of an event too
	// long to be held until its end.
	Frame uint64 `json:"frame,omitempty"`
}
