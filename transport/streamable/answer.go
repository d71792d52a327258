package streamable

import "net/http"

// Answer describes the response to an HTTP request beforehand; in a replay, as the recorded
// server responded. The zero Answer leaves the response to the Server.
type Answer struct {
	// Status is the response's; 0: a fitting status.
	Status int
	// Header are further headers: WWW-Authenticate, Allow, Retry-After.
	Header http.Header
	// Form is the form of the messages.
	Form AnswerForm
	// Body is the body of a response without messages.
	Body []byte
	// IDs gives each event of the stream an id, by which a client can resume the stream.
	IDs bool
	// Primed begins the stream with an event without a message, but with an id.
	Primed bool
	// Retry is the stream's retry field, in milliseconds.
	Retry string
	// Cut ends a stream after the first CutAfter messages; the others wait for the client to
	// resume the stream. Broken cuts the connection, too.
	Cut, Broken bool
	CutAfter    int
	// After is how many messages follow the last response.
	After int
	// Plain is a response without messages, whatever the request.
	Plain bool
	// None cuts the connection instead of a response.
	None bool
}

// AnswerForm is the form of a response with messages.
type AnswerForm uint8

const (
	// AnyForm is JSON when the first message answers the whole request, and a stream
	// otherwise.
	AnyForm AnswerForm = iota
	// JSONForm is one message as the body.
	JSONForm
	// StreamForm is a stream of server-sent events.
	StreamForm
)

// Attempt is an HTTP request that no session knows of yet.
type Attempt struct {
	*http.Request
	// Body is the body of a POST.
	Body []byte
	// Session is how the request names its session.
	Session SessionState
	// Lost: the Last-Event-ID is not the id of an event of the session.
	Lost bool
}

// SessionState is the meaning of the session id in an HTTP request.
type SessionState uint8

const (
	// SessionOpen is a session of the server.
	SessionOpen SessionState = iota
	// SessionNone is no id.
	SessionNone
	// SessionEnded was a session until the client deleted it.
	SessionEnded
	// SessionUnknown never was one.
	SessionUnknown
)
