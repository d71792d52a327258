package replay

import (
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Endings is the projection that tells what becomes of each call, for who reads the
// same log again and wants to know at the request. It takes some bytes a call,
// whatever the frames have in them.
type Endings struct {
	transcript *Transcript
	list       []ending // by the number of the request
}

// ending is what a Call knows at last and its request does not.
type ending struct {
	response, cancelled uint64
	latency             time.Duration
	failure             string // the same text for the same failure
	late                bool
}

// NewEndings returns an empty projection.
func NewEndings() *Endings {
	e := &Endings{}
	failures := map[string]string{}
	e.transcript = NewTranscript(func(entry Entry) error {
		for _, m := range entry.Messages {
			e.take(m, failures)
		}
		for _, call := range entry.Refused {
			e.note(call, failures)
		}
		return nil
	})
	return e
}

// Apply takes the next event.
func (e *Endings) Apply(event store.Event) error {
	if event.Kind != store.Frame && event.Kind != store.HTTP {
		return nil
	}
	return e.transcript.Apply(event)
}

func (e *Endings) take(m EntryMessage, failures map[string]string) {
	if m.Kind == transport.Request {
		e.list = append(e.list, ending{})
	}
	if m.Call == nil || m.Kind == transport.Request {
		return
	}
	e.note(m.Call, failures)
}

// note keeps what a call knows by now.
func (e *Endings) note(c *Call, failures map[string]string) {
	end := &e.list[c.n]
	end.response, end.latency = c.Response, c.Latency
	end.cancelled, end.late = c.Cancelled, c.Late
	end.failure = shared(failures, c.Failure)
}

// shared returns a text that is held once, as long as there are not too many.
func shared(texts map[string]string, s string) string {
	if t, ok := texts[s]; ok {
		return t
	}
	const most = 1000
	if len(texts) >= most {
		return shorten(s)
	}
	texts[s] = s
	return s
}

// foretell writes into a call that was just asked what becomes of it.
func (e *Endings) foretell(c *Call) {
	if e == nil || c.n >= len(e.list) {
		return
	}
	end := e.list[c.n]
	c.Response, c.Latency, c.Failure, c.Cancelled, c.Late = end.response, end.latency, end.failure, end.cancelled, end.late
}
