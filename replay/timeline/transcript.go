package timeline

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Transcript is the projection of a session as a timeline. For each event it emits an entry
// at once. It remembers only the open calls and the latest calls that are over.
type Transcript struct {
	emit    func(Entry) error
	first   uint64 // Seq of the first event; 0: none yet
	index   Index[mcp.Key, *Call]
	asked   int      // requests so far
	endings *Endings // how the calls end; nil: unknown
}

// rememberedCalls limits the calls that a Transcript remembers after their end, for late
// progress, a late cancellation or a second answer.
const rememberedCalls = 64

// NewTranscript returns a transcript that passes entries to emit. An error of emit ends the
// fold.
func NewTranscript(emit func(Entry) error) *Transcript { return newTranscript(rememberedCalls, emit) }

func newTranscript(remember int, emit func(Entry) error) *Transcript {
	return &Transcript{emit: emit, index: NewIndex[mcp.Key, *Call](remember)}
}

// Foresee gives the transcript the ends of its calls, so that the entry of a request names
// the answer. Call Foresee before the first event.
func (t *Transcript) Foresee(endings *Endings) { t.endings = endings }

// Apply emits the event's entry. A transcript may begin with any event of a session. Then it
// does not know the requests before, and says so of a response without a request.
func (t *Transcript) Apply(e store.Event) error {
	if t.first == 0 {
		t.first = e.Seq
	}
	entry := Entry{
		Seq: e.Seq, At: e.At, Kind: e.Kind, Dir: e.Dir, Stream: e.Stream,
		Size: e.Size(), Unterminated: e.Unterminated, Open: e.Open, Redacted: e.Redacted, Cut: e.Cut, Payload: e.Payload,
	}
	if e.Kind != store.Frame {
		entry.Text, entry.Refused = eventText(e), t.follow(e)
		return t.emit(entry)
	}
	messages, err := e.AsFrame().Messages()
	if err != nil {
		entry.Noise, entry.Text = e.Cut == 0 && !e.Open, excerpt(e.Payload)
	}
	entry.Batch = err == nil && bytes.TrimLeft(e.Payload, " \t\r\n")[0] == '['
	for i := range messages {
		entry.Messages = append(entry.Messages, t.message(e, &messages[i]))
	}
	return t.emit(entry)
}

func (t *Transcript) message(event store.Event, message *transport.Message) EntryMessage {
	em := EntryMessage{Kind: message.Kind(), Method: message.Method, ID: string(message.ID), Target: TargetOf(*message), message: message}
	switch em.Kind {
	case transport.Request:
		em.Token = string(message.ProgressToken())
		em.Call = t.request(event, em)
	case transport.Notification:
		t.notification(event, *message, &em)
	case transport.Response:
		t.response(event, *message, &em)
	}
	call := em.Call
	switch { // an answer after it was cancelled or answered, progress after its answer
	case call == nil:
	case em.Kind == transport.Response:
		em.Late = em.Request == 0 || 0 < call.Cancelled && call.Cancelled < event.Seq
	case message.Method == mcp.NotificationProgress:
		em.Late = 0 < call.Response && call.Response < event.Seq
	}
	if em.Late {
		call.Late = true
	}
	return em
}

func (t *Transcript) request(event store.Event, em EntryMessage) *Call {
	call := &Call{
		Dir: event.Dir, ID: em.ID, Method: em.Method, Target: em.Target, Token: em.Token,
		Request: event.Seq, At: event.At, Stream: event.Stream, number: t.asked,
		id: mcp.KeyOf([]byte(em.ID)), token: mcp.KeyOf([]byte(em.Token)),
	}
	t.asked++
	t.endings.predict(call)
	t.index.Ask(event.Dir, event.Stream, call.id, call.token, call)
	return call
}

func (t *Transcript) notification(event store.Event, message transport.Message, em *EntryMessage) {
	switch message.Method {
	case mcp.NotificationProgress:
		em.Token = string(message.ProgressToken())
		if em.Token == "" {
			return
		}
		em.Call, _ = t.index.Progress(event.Dir.Reverse(), event.Stream, mcp.KeyOf(message.ProgressToken()))
	case mcp.NotificationCancelled:
		id := CancelledID(message)
		if id == nil {
			return
		}
		call, ok := t.index.Cancel(event.Dir, mcp.KeyOf(id))
		if !ok {
			em.Call, _ = t.index.Past(event.Dir, 0, mcp.KeyOf(id))
			return
		}
		em.Request = call.Request
		em.Call = call
		call.Cancelled = event.Seq
	}
}

func (t *Transcript) response(event store.Event, message transport.Message, em *EntryMessage) {
	call, ok := t.index.Answer(event.Dir.Reverse(), event.Stream, mcp.KeyOf(message.ID))
	if ok {
		em.Request = call.Request
		em.Method = call.Method
		em.Target = call.Target
		em.Latency = event.At - call.At
	}
	if !ok {
		em.Call, _ = t.index.Past(event.Dir.Reverse(), event.Stream, mcp.KeyOf(message.ID))
		em.NotLookedUp = em.Call == nil && t.first > 1 && em.ID != "" && em.ID != "null"
		em.Failure = failure(message, em.NotLookedUp)
		return
	}
	em.Failure = failure(message, em.Method == mcp.MethodCallTool)
	em.Call = call
	call.Response = event.Seq
	call.Latency = em.Latency
	call.Failure = em.Failure
}

// follow applies an HTTP event to the calls of its exchange, and returns the calls that the
// status answers.
func (t *Transcript) follow(event store.Event) []*Call {
	if event.Kind != store.HTTP {
		return nil
	}
	refused, status := t.index.Follow(event)
	slices.SortFunc(refused, func(a, b *Call) int { return a.number - b.number })
	for _, call := range refused {
		call.Response, call.Latency, call.Failure = event.Seq, event.At-call.At, fmt.Sprintf("HTTP %d", status)
	}
	return refused
}
