package timeline

import (
	"maps"
	"slices"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Call is a request, its answer and its progress.
type Call struct {
	Dir       transport.Direction // the way the request went
	ID        string              // raw JSON
	Method    string
	Target    string // tool or prompt name, resource uri
	Token     string // raw progress token; "" if the request asks for no progress
	Request   uint64 // Seq of the request's frame
	At        time.Duration
	Stream    uint64        // of the request
	Response  uint64        // Seq of the response's frame, or of the HTTP status that answers, such as 404; 0: none
	Latency   time.Duration // of a call without an answer: see [Endings.Close]
	Failure   string        // as in EntryMessage; "HTTP 404" of a status
	Progress  []uint64      // Seqs of the progress notifications, late ones too; only Calls fills the list
	Cancelled uint64        // Seq of the cancellation; 0: none
	Late      bool          // a message came after the end of the call

	number int // among the requests, from 0
	id     mcp.Key
	token  mcp.Key // "" for no progress
}

// Number returns how many requests of the session came before, of both directions.
func (c *Call) Number() int { return c.number }

// Answered reports whether the recording has a response.
func (c *Call) Answered() bool { return c.Response != 0 }

// Calls is the projection that keeps every call of a session.
type Calls struct {
	transcript *Transcript
	calls      []*Call
}

// NewCalls returns an empty projection.
func NewCalls() *Calls {
	c := &Calls{}
	c.transcript = newTranscript(All, func(entry Entry) error {
		for _, m := range entry.Messages {
			switch {
			case m.Kind == transport.Request:
				c.calls = append(c.calls, m.Call)
			case m.Kind == transport.Notification && m.Method == mcp.NotificationProgress && m.Call != nil:
				m.Call.Progress = append(m.Call.Progress, entry.Seq)
			}
		}
		return nil
	})
	return c
}

// Apply takes the next event; only frames and HTTP events matter.
func (c *Calls) Apply(event store.Event) error { return c.transcript.Apply(event) }

// All returns the calls in the order of their requests.
func (c *Calls) All() []*Call { return c.calls }

// Unanswered returns the calls without a response so far. Some are normal at the end of a
// session, and a request that opens a stream may never have a response.
func (c *Calls) Unanswered() []*Call {
	return slices.DeleteFunc(slices.Clone(c.calls), (*Call).Answered)
}

// Endings is the projection of how each call ends, for a Transcript of the same log that
// shows the answer beside the request. It holds 24 bytes a call, however large the frames
// are. [NewEndings] makes it.
type Endings struct {
	links     Linker
	list      []callEnd         // by the number of the request
	cancelled map[int]uint64    // Seq of the cancellation, by the number of the request
	failures  []string          // each once
	failure   map[string]uint32 // the place in failures
	now       time.Duration     // see Close
}

// callEnd is the part of a Call that is unknown at the request. It has no pointer, which would cost
// the garbage collector a look at every call.
type callEnd struct {
	response uint64
	latency  time.Duration
	failure  uint32 // a place in Endings.failures
	late     bool
}

// NewEndings returns an empty projection.
func NewEndings() *Endings {
	return &Endings{links: NewLinker(), cancelled: map[int]uint64{}, failures: []string{""}, failure: map[string]uint32{"": 0}}
}

// Apply takes the next event.
func (e *Endings) Apply(event store.Event) error {
	e.now = event.At
	switch event.Kind {
	case store.Frame:
		messages := MessagesOf(event.AsFrame())
		for i := range messages {
			e.Note(event, &messages[i], e.links.Message(event, &messages[i]))
		}
	case store.HTTP:
		refused, status := e.links.Follow(event)
		e.NoteStatus(event, refused, status)
	}
	return nil
}

// Note takes a message of a frame with its link. It writes into the call of an answer. Note and
// NoteStatus are for a caller that has a Linker of its own; they stand in for Apply.
func (e *Endings) Note(event store.Event, message *transport.Message, link Link) {
	switch {
	case link.Role == Asks:
		e.list = append(e.list, callEnd{})
		return
	case link.Role == Answers:
		settle(event, message, link.Call)
	}
	if link.Call != nil {
		e.note(link.Call)
	}
}

// NoteStatus takes the calls that the HTTP status of an event answers. It writes into them.
func (e *Endings) NoteStatus(event store.Event, refused []*Call, status int) {
	for _, call := range refused {
		refuse(event, call, status)
		e.note(call)
	}
}

// Clone returns a copy for a Transcript; later events leave it alone.
func (e *Endings) Clone() *Endings {
	return &Endings{list: slices.Clone(e.list), cancelled: maps.Clone(e.cancelled), failures: slices.Clone(e.failures), now: e.now}
}

// Close ends the projection. A call without an answer has a latency until the last event or, in a
// session that goes on, until now: the present time since the start; 0 for a session that is over.
func (e *Endings) Close(now time.Duration) { e.now = max(e.now, now) }

// note keeps the present end of a call.
func (e *Endings) note(c *Call) {
	place, known := e.failure[c.Failure]
	if !known {
		place = uint32(len(e.failures))
		e.failure[c.Failure] = place
		e.failures = append(e.failures, c.Failure)
	}
	e.list[c.number] = callEnd{response: c.Response, latency: c.Latency, failure: place, late: c.Late}
	if c.Cancelled != 0 {
		e.cancelled[c.number] = c.Cancelled
	}
}

// predict writes the end of a call into a call that has just begun.
func (e *Endings) predict(call *Call) {
	if e == nil || call.number >= len(e.list) {
		return
	}
	end := e.list[call.number]
	call.Response = end.response
	call.Latency = end.latency
	call.Cancelled = e.cancelled[call.number]
	call.Late = end.late
	call.Failure = e.failures[end.failure]
	if call.Response == 0 && call.Cancelled == 0 {
		call.Latency = max(0, e.now-call.At)
	}
}
