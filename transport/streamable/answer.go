package streamable

import "net/http"

// Answer is what is known beforehand of the response to an HTTP request: of a
// replay, how the recorded server responded. The zero Answer knows nothing.
type Answer struct {
	// Status is the response's; 0: what fits.
	Status int
	// Header are further headers of it: WWW-Authenticate, Allow, Retry-After.
	Header http.Header
	// Form is how messages come.
	Form AnswerForm
	// Body is the body of a response without messages.
	Body []byte
	// IDs gives each event of the stream an id, by which it can be resumed.
	IDs bool
	// Primed begins the stream with an event that has an id and no message.
	Primed bool
	// Retry is what the stream tells the client of when to come back.
	Retry string
	// Cut ends the response, which is a stream, after its first CutAfter messages; the
	// others wait for the client to resume it. Broken ends it as a connection does
	// that breaks.
	Cut, Broken bool
	CutAfter    int
	// After is how many messages follow the last response.
	After int
	// Plain is a response that has no messages, whatever was asked.
	Plain bool
	// None cuts the connection in place of a response to a message.
	None bool
}

// AnswerForm is the form of a response with messages.
type AnswerForm uint8

const (
	// AnyForm is JSON when the first message is all there is to answer, and a stream
	// otherwise.
	AnyForm AnswerForm = iota
	// JSONForm is one message as the body.
	JSONForm
	// StreamForm is a stream of server-sent events.
	StreamForm
)
