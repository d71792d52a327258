package timeline

import (
	"slices"
	"time"
	"unique"

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
// shows the answer beside the request. It holds about 64 bytes a call, however large the
// frames are.
type Endings struct {
	transcript *Transcript
	list       []callEnd     // by the number of the request
	now        time.Duration // see Close
}

// callEnd is the part of a Call that is unknown at the request.
type callEnd struct {
	response, cancelled uint64
	latency             time.Duration
	failure             unique.Handle[string]
	late                bool
}

// NewEndings returns an empty projection.
func NewEndings() *Endings {
	e := &Endings{}
	e.transcript = NewTranscript(func(entry Entry) error {
		for _, m := range entry.Messages {
			if m.Kind == transport.Request {
				e.list = append(e.list, callEnd{})
			} else if m.Call != nil {
				e.note(m.Call)
			}
		}
		for _, call := range entry.Refused {
			e.note(call)
		}
		return nil
	})
	return e
}

// Apply takes the next event.
func (e *Endings) Apply(event store.Event) error {
	e.now = event.At
	if event.Kind != store.Frame && event.Kind != store.HTTP {
		return nil
	}
	return e.transcript.Apply(event)
}

// Close ends the projection. A call without an answer has a latency until the last event or, in a
// session that goes on, until now: the present time since the start; 0 for a session that is over.
func (e *Endings) Close(now time.Duration) { e.now = max(e.now, now) }

// note keeps the present end of a call.
func (e *Endings) note(c *Call) {
	e.list[c.number] = callEnd{
		response: c.Response, cancelled: c.Cancelled, latency: c.Latency, failure: unique.Make(c.Failure), late: c.Late,
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
	call.Cancelled = end.cancelled
	call.Late = end.late
	if call.Response == 0 && call.Cancelled == 0 {
		call.Latency = max(0, e.now-call.At)
	}
	if end.failure != (unique.Handle[string]{}) {
		call.Failure = end.failure.Value()
	}
}
