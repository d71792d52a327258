package timeline

import (
	"bytes"
	"fmt"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Transcript is the projection of a session as a timeline. For each event it emits an entry
// at once. It remembers only the open calls and the latest calls that are over.
type Transcript struct {
	emit    func(Entry) error
	first   uint64 // Seq of the first event; 0: none yet
	links   Linker
	endings *Endings // how the calls end; nil: unknown
}

// NewTranscript returns a transcript that passes entries to emit. An error of emit ends the
// fold.
func NewTranscript(emit func(Entry) error) *Transcript { return newTranscript(rememberedCalls, emit) }

func newTranscript(remember int, emit func(Entry) error) *Transcript {
	return &Transcript{emit: emit, links: newLinker(remember)}
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
	refused, status := t.links.Follow(e)
	for _, call := range refused {
		refuse(e, call, status)
	}
	return t.emit(newEntry(e, refused, t.first > 1, func(_ int, message *transport.Message) Link {
		link := t.links.Message(e, message)
		if link.Role == Asks {
			t.endings.predict(link.Call)
		}
		return link
	}))
}

// NewEntry returns the entry of an event as a Transcript of the whole session would make it.
// The caller knows the calls that the event's HTTP status answers, and the link of each
// message, by the message's place in the frame. NewEntry writes into the call of a request,
// and into the call of an answer.
func NewEntry(event store.Event, refused []*Call, link func(place int) Link) Entry {
	return newEntry(event, refused, false, func(place int, _ *transport.Message) Link { return link(place) })
}

// newEntry makes an entry. inMiddle: the requests before the first event are not known.
func newEntry(e store.Event, refused []*Call, inMiddle bool, link func(place int, message *transport.Message) Link) Entry {
	entry := Entry{
		Seq: e.Seq, At: e.At, Kind: e.Kind, Dir: e.Dir, Stream: e.Stream,
		Size: e.Size(), Unterminated: e.Unterminated, Open: e.Open, Redacted: e.Redacted, Cut: e.Cut, Payload: e.Payload,
	}
	if e.Kind != store.Frame {
		entry.Text, entry.Refused = eventText(e), refused
		return entry
	}
	messages, err := e.AsFrame().Messages()
	if err != nil {
		entry.Noise, entry.Text = e.Cut == 0 && !e.Open, excerpt(e.Payload)
	}
	entry.Batch = err == nil && bytes.TrimLeft(e.Payload, " \t\r\n")[0] == '['
	for i := range messages {
		entry.Messages = append(entry.Messages, newMessage(e, &messages[i], link(i, &messages[i]), inMiddle))
	}
	return entry
}

// newMessage makes the message of an entry.
func newMessage(event store.Event, message *transport.Message, link Link, inMiddle bool) EntryMessage {
	em := EntryMessage{
		Kind: message.Kind(), Method: message.Method, ID: string(message.ID), Target: TargetOf(*message),
		Call: link.Call, Role: link.Role, Late: link.Late, message: message,
	}
	call := link.Call
	if link.Role == Answers || link.Role == Cancels {
		em.Request = call.Request
	}
	switch {
	case em.Kind == transport.Request || message.Method == mcp.NotificationProgress:
		em.Token = string(message.ProgressToken())
	case em.Kind == transport.Response && link.Role != Answers:
		em.NotLookedUp = call == nil && inMiddle && em.ID != "" && em.ID != "null"
		em.Failure = failure(*message, em.NotLookedUp)
	}
	switch link.Role {
	case Asks:
		call.ID = em.ID
		call.Method = em.Method
		call.Target = em.Target
		call.Token = em.Token
	case Answers:
		em.Method = call.Method
		em.Target = call.Target
		settle(event, message, call)
		em.Latency = call.Latency
		em.Failure = call.Failure
	}
	return em
}

// settle writes how long the answer took, and whether it is a failure, into its call.
func settle(event store.Event, answer *transport.Message, call *Call) {
	call.Latency = event.At - call.At
	call.Failure = failure(*answer, call.Method == mcp.MethodCallTool)
}

// refuse writes the HTTP status that answers a call into the call.
func refuse(event store.Event, call *Call, status int) {
	call.Latency = event.At - call.At
	call.Failure = fmt.Sprintf("HTTP %d", status)
}
