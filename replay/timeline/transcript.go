package timeline

import (
	"fmt"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Transcript is the projection of a session as a timeline. For each event it emits an entry
// at once, and remembers nothing.
type Transcript struct {
	emit    func(Entry) error
	first   uint64   // Seq of the first event; 0: none yet
	endings *Endings // how the calls end; nil: unknown
}

// NewTranscript returns a transcript that passes entries to emit. An error of emit ends the
// fold.
func NewTranscript(emit func(Entry) error) *Transcript {
	return &Transcript{emit: emit}
}

// Foresee gives the transcript the ends of its calls, so that the entry of a request names
// the answer. Call Foresee before the first event. The transcript then writes
// into the calls of its steps, which other projections see.
func (t *Transcript) Foresee(endings *Endings) { t.endings = endings }

// Take emits the entry of the next step. A model may begin with any event of a session. Then it
// does not know the requests before, and the transcript says so of a response without a request.
func (t *Transcript) Take(step Step) error {
	if t.first == 0 {
		t.first = step.Seq
	}
	for i := range step.Messages {
		if m := &step.Messages[i]; m.Role == Asks {
			t.endings.predict(m.Call)
		}
	}
	return t.emit(newEntry(step, t.first > 1))
}

// NewEntry returns the entry of a step.
func NewEntry(step Step) Entry { return newEntry(step, false) }

// newEntry makes an entry. inMiddle: the requests before the first event are not known.
func newEntry(step Step, inMiddle bool) Entry {
	e := step.Event
	entry := Entry{
		Seq: e.Seq, At: e.At, Kind: e.Kind, Dir: e.Dir, Stream: e.Stream,
		Size: e.Size(), Unterminated: e.Unterminated, Open: e.Open, Redacted: e.Redacted, Cut: e.Cut, Payload: e.Payload,
	}
	if e.Kind != store.Frame {
		entry.Text, entry.Refused, entry.Cancelled, entry.Undone = eventText(e), step.Refused, step.Cancelled, step.Undone
		return entry
	}
	entry.Refused, entry.Undone = step.Refused, step.Undone
	if step.Unended && e.Dir == transport.ServerToClient {
		entry.Unended = true
		entry.Text = excerpt(e.Payload)
	}
	if step.Noise {
		entry.Noise, entry.Text = e.Cut == 0 && !e.Open, excerpt(e.Payload)
	}
	if form := step.Misframed; form != nil && !step.Noise {
		if entry.Form = string(form.Form); form.From != e.Seq {
			entry.Form += fmt.Sprintf(" from #%d on", form.From)
		}
	}
	entry.Batch = step.Batch
	for i := range step.Messages {
		entry.Messages = append(entry.Messages, newMessage(&step.Messages[i], inMiddle))
	}
	return entry
}

// newMessage makes the message of an entry.
func newMessage(m *Message, inMiddle bool) EntryMessage {
	em := EntryMessage{
		Kind: m.Kind, Method: m.Method, ID: string(m.ID), Target: TargetOf(m.Message),
		Call: m.Call, Role: m.Role, Late: m.Late, Notice: m.Notice, Retyped: m.Retyped, Strays: m.Strays, Equals: m.Equals, message: &m.Message,
	}
	call := m.Call
	if m.Role == Answers || m.Role == Cancels {
		em.Request = call.Request
	}
	switch {
	case em.Kind == transport.Request || m.Method == mcp.NotificationProgress:
		em.Token = string(m.ProgressToken())
	case em.Kind == transport.Response && m.Role != Answers:
		em.NotLookedUp = call == nil && inMiddle && em.ID != "" && em.ID != "null"
		em.Failure = FailureOf(&m.Message, em.NotLookedUp)
	}
	if m.Role == Answers {
		em.Method = call.Method
		em.Target = call.Target
		em.Latency = call.Latency
		em.Failure = call.Failure
	}
	return em
}
