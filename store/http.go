package store

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
	// Header has the headers that matter to MCP, with canonical names. A secret
	// is never among them: its value is replaced before it comes here.
	Header map[string][]string `json:"header,omitempty"`
	// Body is a body, or the rest of one, that is no frame: an error page, "Accepted".
	Body string `json:"body,omitempty"`
	// SSE is, of a server-sent event, all but the value of its data.
	SSE *SSEInfo `json:"sse,omitempty"`
	// Error is the cause of a cut.
	Error string `json:"error,omitempty"`
}

// What an HTTP event tells.
const (
	HTTPRequest  = "request"  // a request began; its body follows as a frame
	HTTPResponse = "response" // the status and the headers of the answer came
	HTTPEvent    = "event"    // a server-sent event that is more than its frame, which follows if there is one
	HTTPEnd      = "end"      // the response ended as it should
	HTTPAbort    = "abort"    // the client hung up
	HTTPBroken   = "broken"   // the server did
	HTTPNone     = "none"     // no response came
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
	Lines []string `json:"lines"`
	// EOL is the line end when it is not "\n".
	EOL string `json:"eol,omitempty"`
}
