package timeline

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/varint"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Transcript is the projection of a session as a timeline. For each event it emits an entry
// at once. It remembers only the open calls and the latest calls that are over.
type Transcript struct {
	emit    func(Entry) error
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
func (t *Transcript) Foresee(e *Endings) { t.endings = e }

// Apply emits the event's entry.
func (t *Transcript) Apply(e store.Event) error {
	entry := Entry{
		Seq: e.Seq, At: e.At, Kind: e.Kind, Dir: e.Dir, Stream: e.Stream,
		Size: e.Size(), Unterminated: e.Unterminated, Redacted: e.Redacted, Cut: e.Cut, Payload: e.Payload,
	}
	if e.Kind != store.Frame {
		entry.Text, entry.Refused = eventText(e), t.follow(e)
		return t.emit(entry)
	}
	messages, err := e.AsFrame().Messages()
	if err != nil {
		entry.Noise, entry.Text = e.Cut == 0, excerpt(e.Payload)
	}
	entry.Batch = err == nil && bytes.TrimLeft(e.Payload, " \t\r\n")[0] == '['
	for _, m := range messages {
		entry.Messages = append(entry.Messages, t.message(e, m))
	}
	return t.emit(entry)
}

func (t *Transcript) message(e store.Event, m transport.Message) EntryMessage {
	em := EntryMessage{Kind: m.Kind(), Method: m.Method, ID: string(m.ID), Target: TargetOf(m)}
	switch em.Kind {
	case transport.Request:
		em.Token = string(m.ProgressToken())
		em.Call = t.request(e, em)
	case transport.Notification:
		t.notification(e, m, &em)
	case transport.Response:
		t.response(e, m, &em)
	}
	call := em.Call
	switch { // an answer after it was cancelled or answered, progress after its answer
	case call == nil:
	case em.Kind == transport.Response:
		em.Late = em.Request == 0 || 0 < call.Cancelled && call.Cancelled < e.Seq
	case m.Method == mcp.NotificationProgress:
		em.Late = 0 < call.Response && call.Response < e.Seq
	}
	if em.Late {
		call.Late = true
	}
	return em
}

func (t *Transcript) request(e store.Event, em EntryMessage) *Call {
	call := &Call{
		Dir: e.Dir, ID: em.ID, Method: em.Method, Target: em.Target, Token: em.Token,
		Request: e.Seq, At: e.At, Stream: e.Stream, number: t.asked,
		id: mcp.KeyOf([]byte(em.ID)), token: mcp.KeyOf([]byte(em.Token)),
	}
	t.asked++
	t.endings.predict(call)
	t.index.Ask(e.Dir, e.Stream, call.id, call.token, call)
	return call
}

func (t *Transcript) notification(e store.Event, m transport.Message, em *EntryMessage) {
	switch m.Method {
	case mcp.NotificationProgress:
		em.Token = string(m.ProgressToken())
		if em.Token == "" {
			return
		}
		em.Call, _ = t.index.Progress(e.Dir.Reverse(), e.Stream, mcp.KeyOf(m.ProgressToken()))
	case mcp.NotificationCancelled:
		id := CancelledID(m)
		if id == nil {
			return
		}
		call, ok := t.index.Cancel(e.Dir, mcp.KeyOf(id))
		if !ok {
			em.Call, _ = t.index.Past(e.Dir, 0, mcp.KeyOf(id))
			return
		}
		em.Request, em.Call, call.Cancelled = call.Request, call, e.Seq
	}
}

func (t *Transcript) response(e store.Event, m transport.Message, em *EntryMessage) {
	call, ok := t.index.Answer(e.Dir.Reverse(), e.Stream, mcp.KeyOf(m.ID))
	if ok {
		em.Request, em.Method, em.Target = call.Request, call.Method, call.Target
		em.Latency = e.At - call.At
	}
	em.Failure = failure(m, em.Method)
	if !ok {
		em.Call, _ = t.index.Past(e.Dir.Reverse(), e.Stream, mcp.KeyOf(m.ID))
		return
	}
	em.Call, call.Response, call.Latency, call.Failure = call, e.Seq, em.Latency, em.Failure
}

// follow applies an HTTP event to the calls of its exchange, and returns the calls that the
// status answers.
func (t *Transcript) follow(e store.Event) []*Call {
	if e.Kind != store.HTTP {
		return nil
	}
	refused, status := t.index.Follow(e)
	slices.SortFunc(refused, func(a, b *Call) int { return a.number - b.number })
	for _, call := range refused {
		call.refusedBy(e, status)
	}
	return refused
}

// Follow applies an event without an entry. messages are the parsed messages of the event.
func (t *Transcript) Follow(e store.Event, messages []transport.Message) {
	t.follow(e)
	for _, m := range messages {
		t.message(e, m)
	}
}

// AppendCalls appends the calls that the transcript remembers, in the form that
// [ResumeTranscript] reads: the number of requests so far; the calls without a message as
// their answer, by direction, id and age, including calls that only an HTTP status has
// answered; the calls that are over, the latest last.
func (t *Transcript) AppendCalls(b []byte) []byte {
	b = varint.Append(b, uint64(t.asked))
	open := slices.SortedFunc(t.index.Unanswered(), func(a, b *Call) int {
		return cmp.Or(cmp.Compare(a.Dir, b.Dir), cmp.Compare(a.id, b.id), cmp.Compare(a.number, b.number))
	})
	b = varint.Append(b, uint64(len(open)))
	for _, c := range open {
		latest, _ := t.index.Progress(c.Dir, 0, c.token)
		b = c.append(b, latest == c && !c.refused)
	}
	past := t.index.inOrderOfEnd()
	b = varint.Append(b, uint64(len(past)))
	for _, a := range past {
		b = a.request.append(b, false)
	}
	return b
}

// append appends a call. holds says that progress with the call's token belongs to the call;
// the format has the flag, and resume works without.
func (c *Call) append(b []byte, holds bool) []byte {
	flags := byte(0)
	if c.Late {
		flags |= 1
	}
	if holds {
		flags |= 2
	}
	b = append(b, byte(c.Dir), flags)
	b = varint.Append(b, c.Request, uint64(c.At), c.Stream, c.Response, uint64(c.Latency), c.Cancelled, uint64(c.number))
	return varint.AppendText(b, c.ID, c.Method, c.Target, c.Token, c.Failure)
}

// ResumeTranscript returns a transcript that continues with the calls that AppendCalls
// wrote.
func ResumeTranscript(calls []byte, emit func(Entry) error) (*Transcript, error) {
	t := NewTranscript(emit)
	r := varint.NewReader(calls)
	t.asked = int(r.Uint())
	var open, past []*Call
	for n := r.Uint(); n > 0 && !r.Bad(); n-- {
		open = append(open, callOf(&r))
	}
	for n := r.Uint(); n > 0 && !r.Bad(); n-- {
		past = append(past, callOf(&r))
	}
	if !r.Whole() {
		return nil, errors.New("resume transcript: not the calls of one")
	}
	t.resume(open, past)
	return t, nil
}

// resume puts calls into the index: open ones, and past ones in the order of their ends. A
// call that only an HTTP status has answered is in both lists.
func (t *Transcript) resume(open, past []*Call) {
	index := map[int]*asked[mcp.Key, *Call]{} // by the number of the call
	for _, c := range past {
		index[c.number] = c.asked()
		index[c.number].over = true
	}
	for _, c := range open {
		if index[c.number] == nil {
			index[c.number] = c.asked()
		}
		index[c.number].over = false
		index[c.number].refused = c.Answered()
		index[c.number].request.refused = c.Answered()
	}
	for _, n := range slices.Sorted(maps.Keys(index)) {
		if a := index[n]; a.over {
			t.index.askOn(a)
		} else {
			t.index.ask(a)
		}
	}
	for _, c := range past {
		t.index.keep(index[c.number])
	}
}

// asked returns the call as an entry of the index.
func (c *Call) asked() *asked[mcp.Key, *Call] {
	return &asked[mcp.Key, *Call]{request: c, stream: c.Stream, id: name[mcp.Key]{c.Dir, c.id}, token: name[mcp.Key]{c.Dir, c.token}}
}

// callOf reads a call.
func callOf(r *varint.Reader) *Call {
	b := r.Take(2)
	if len(b) < 2 {
		return &Call{}
	}
	c := &Call{
		Dir: transport.Direction(b[0]), Late: b[1]&1 != 0, Request: r.Uint(), At: time.Duration(r.Uint()), Stream: r.Uint(),
		Response: r.Uint(), Latency: time.Duration(r.Uint()), Cancelled: r.Uint(), number: int(r.Uint()),
	}
	for _, text := range [...]*string{&c.ID, &c.Method, &c.Target, &c.Token, &c.Failure} {
		*text = r.Text()
	}
	c.id, c.token = mcp.KeyOf([]byte(c.ID)), mcp.KeyOf([]byte(c.Token))
	return c
}
