package timeline

import (
	"fmt"
	"time"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Call is a request and what came of it.
type Call struct {
	Dir       transport.Direction // the way the request went
	ID        string              // raw JSON
	Method    string
	Target    string // tool or prompt name, resource uri
	Token     string // raw progress token; "" when none was asked for
	Request   uint64 // Seq of the request's frame
	At        time.Duration
	Stream    uint64 // of the request
	Response  uint64 // Seq of the response's frame, or of the HTTP status that is the answer, as 404; 0: none
	Latency   time.Duration
	Failure   string   // see EntryMessage; "HTTP 404" of a status
	Progress  []uint64 // Seqs of its progress notifications; those after Response came late; a Transcript has none
	Cancelled uint64   // Seq of the caller's cancellation; 0: none
	Late      bool     // of a Transcript: something came for it after it was over

	n     int     // its number among the requests of a Transcript, from 0
	id    mcp.Key // of a Transcript
	token mcp.Key // of a Transcript; "" when none was asked for

	refused bool // an HTTP status answers it
}

// Answered reports whether the recording has a response.
func (c *Call) Answered() bool { return c.Response != 0 }

// refusedBy notes that an HTTP status answers the call.
func (c *Call) refusedBy(e store.Event, status int) {
	c.refused = true
	c.Response, c.Latency, c.Failure = e.Seq, e.At-c.At, fmt.Sprintf("HTTP %d", status)
}

// Orphan is a message that belongs to a request which the recording does not
// have open: a response, a progress notification or a cancellation.
type Orphan struct {
	Seq    uint64
	Dir    transport.Direction
	Method string // "" for a response
	ID     string // raw id, or raw progress token
}

// Calls is the projection that pairs requests with responses, as an [Index] does. An HTTP
// status that is no success answers the requests of its exchange, as a failure.
type Calls struct {
	calls   []*Call
	orphans []Orphan
	index   Index[mcp.Key, *Call]
}

// NewCalls returns an empty projection.
func NewCalls() *Calls {
	return &Calls{index: NewIndex[mcp.Key, *Call](All)}
}

// All returns the calls in the order of their requests.
func (c *Calls) All() []*Call { return c.calls }

// Orphans returns the messages that belong to no call.
func (c *Calls) Orphans() []Orphan { return c.orphans }

// Unanswered returns the calls without a response so far. That is normal at the
// end of a session, and for requests that open a stream.
func (c *Calls) Unanswered() []*Call {
	var list []*Call
	for _, call := range c.calls {
		if !call.Answered() {
			list = append(list, call)
		}
	}
	return list
}

// Apply takes the next event; only frames and what HTTP says of their exchanges matter.
func (c *Calls) Apply(e store.Event) error {
	if e.Kind == store.HTTP {
		refused, status := c.index.Follow(e)
		for _, call := range refused {
			call.refusedBy(e, status)
		}
	}
	if e.Kind != store.Frame {
		return nil
	}
	for _, m := range MessagesOf(e.AsFrame()) {
		switch m.Kind() {
		case transport.Request:
			call := &Call{
				Dir: e.Dir, ID: string(m.ID), Method: m.Method, Target: TargetOf(m), Token: string(m.ProgressToken()),
				Request: e.Seq, At: e.At, Stream: e.Stream,
			}
			c.calls = append(c.calls, call)
			c.index.Ask(e.Dir, e.Stream, mcp.KeyOf(m.ID), mcp.KeyOf(m.ProgressToken()), call)
		case transport.Response:
			call, ok := c.index.Answer(e.Dir.Reverse(), e.Stream, mcp.KeyOf(m.ID))
			if !ok {
				c.orphans = append(c.orphans, Orphan{Seq: e.Seq, Dir: e.Dir, ID: string(m.ID)})
				continue
			}
			call.Response, call.Latency = e.Seq, e.At-call.At
			call.Failure = failure(m, call.Method)
		case transport.Notification:
			c.notification(e, m)
		}
	}
	return nil
}

func (c *Calls) notification(e store.Event, m transport.Message) {
	orphan := Orphan{Seq: e.Seq, Dir: e.Dir, Method: m.Method}
	switch m.Method {
	case mcp.NotificationProgress:
		orphan.ID = string(m.ProgressToken())
		if call, ok := c.index.Progress(e.Dir.Reverse(), e.Stream, mcp.KeyOf(m.ProgressToken())); ok {
			call.Progress = append(call.Progress, e.Seq)
			return
		}
	case mcp.NotificationCancelled:
		orphan.ID = string(CancelledID(m))
		if call, ok := c.index.Cancel(e.Dir, mcp.KeyOf(CancelledID(m))); ok {
			call.Cancelled = e.Seq
			return
		}
	default:
		return
	}
	c.orphans = append(c.orphans, orphan)
}

// Endings is the projection that tells what becomes of each call, for a reader of the
// same log who wants to know it at the request. It takes some bytes a call,
// whatever the frames have in them.
type Endings struct {
	transcript *Transcript
	list       []callEnd // by the number of the request
}

// callEnd is what a Call knows at last and its request does not.
type callEnd struct {
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
			if m.Kind == transport.Request {
				e.list = append(e.list, callEnd{})
			} else if m.Call != nil {
				e.note(m.Call, failures)
			}
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

// note keeps what a call knows by now. The text of a failure is held once, as long as
// there are not too many.
func (e *Endings) note(c *Call, failures map[string]string) {
	failure, held := failures[c.Failure]
	const most = 1000
	switch {
	case held:
	case len(failures) >= most:
		failure = phrase.Shorten(c.Failure, phrase.NameLimit)
	default:
		failure = c.Failure
		failures[failure] = failure
	}
	e.list[c.n] = callEnd{response: c.Response, cancelled: c.Cancelled, latency: c.Latency, failure: failure, late: c.Late}
}

// predict writes into a call that was just asked what becomes of it.
func (e *Endings) predict(c *Call) {
	if e == nil || c.n >= len(e.list) {
		return
	}
	end := e.list[c.n]
	c.Response, c.Latency, c.Failure, c.Cancelled, c.Late = end.response, end.latency, end.failure, end.cancelled, end.late
}
