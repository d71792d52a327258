package timeline

import (
	"maps"
	"slices"
	"time"
)

// Endings is the projection of how each call ends, for a Transcript of the same log that
// shows the answer beside the request. It holds 24 bytes a call, however large the frames
// are. [NewEndings] makes it.
type Endings struct {
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
	return &Endings{cancelled: map[int]uint64{}, failures: []string{""}, failure: map[string]uint32{"": 0}}
}

// Take takes the next step.
func (e *Endings) Take(step Step) error {
	e.now = step.At
	for i := range step.Messages {
		switch m := &step.Messages[i]; {
		case m.Role == Asks:
			e.list = append(e.list, callEnd{})
		case m.Call != nil:
			e.note(m.Call)
		}
	}
	for _, calls := range [][]*Call{step.Refused, step.Cancelled, step.Undone} {
		for _, call := range calls {
			e.note(call)
		}
	}
	return nil
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
	} else {
		delete(e.cancelled, c.number)
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
