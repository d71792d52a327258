package timeline

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/varint"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Transcript is the projection that tells a session as a timeline. It gives out
// one entry for each event, at once, and remembers only the calls in flight, and the
// latest that are over.
type Transcript struct {
	emit    func(Entry) error
	open    InFlight[*Call]
	tokens  map[CallKey]*Call // of the calls in open
	over    closedCalls
	asked   int      // requests so far
	endings *Endings // what becomes of each; nil: nobody knows
}

// NewTranscript returns a transcript that gives its entries to emit. An error of
// emit ends the fold.
func NewTranscript(emit func(Entry) error) *Transcript {
	return &Transcript{emit: emit, open: InFlight[*Call]{}, tokens: map[CallKey]*Call{}}
}

// Foresee tells the transcript of a log how its calls end, so that the entry of a
// request has its answer. To be called before the first event.
func (t *Transcript) Foresee(e *Endings) { t.endings = e }

// Apply gives out the event's entry.
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
		Request: e.Seq, At: e.At, Stream: e.Stream, n: t.asked,
		id: mcp.KeyOf([]byte(em.ID)), token: mcp.KeyOf([]byte(em.Token)),
	}
	t.asked++
	t.endings.predict(call)
	t.open.openAt(CallKey{e.Dir, call.id}, e.Stream, call)
	if call.token != "" {
		t.tokens[CallKey{e.Dir, call.token}] = call
	}
	return call
}

func (t *Transcript) notification(e store.Event, m transport.Message, em *EntryMessage) {
	switch m.Method {
	case mcp.NotificationProgress:
		em.Token = string(m.ProgressToken())
		if em.Token == "" {
			return
		}
		k := CallKeyOf(e.Dir.Reverse(), m.ProgressToken())
		em.Call = t.tokens[k]
		if em.Call == nil {
			em.Call = t.over.find(func(c *Call) bool { return c.Dir == k.Dir && c.token == k.ID })
		}
	case mcp.NotificationCancelled:
		id := CancelledID(m)
		if id == nil {
			return
		}
		call, ok := t.open.Latest(e.Dir, id)
		if !ok {
			em.Call = t.over.withID(CallKeyOf(e.Dir, id))
			return
		}
		em.Request, em.Call, call.Cancelled = call.Request, call, e.Seq
	}
}

func (t *Transcript) response(e store.Event, m transport.Message, em *EntryMessage) {
	call, ok := t.open.Close(e.Dir.Reverse(), e.Stream, m.ID)
	if ok {
		em.Request, em.Method, em.Target = call.Request, call.Method, call.Target
		em.Latency = e.At - call.At
	}
	em.Failure = failure(m, em.Method)
	if !ok {
		k := CallKeyOf(e.Dir.Reverse(), m.ID) // the latest with the id, of the exchange if there is one
		em.Call = t.over.find(func(c *Call) bool { return c.Stream == e.Stream && c.Dir == k.Dir && c.id == k.ID })
		if em.Call == nil {
			em.Call = t.over.withID(k)
		}
		return
	}
	em.Call, call.Response, call.Latency, call.Failure = call, e.Seq, em.Latency, em.Failure
	if !call.refused { // by the status that the message came with
		t.end(call)
	}
}

// follow applies an HTTP event to the calls of its exchange, and returns the calls that its
// status answers.
func (t *Transcript) follow(e store.Event) []*Call {
	if e.Kind != store.HTTP {
		return nil
	}
	refused, status := t.open.Follow(e)
	slices.SortFunc(refused, func(a, b *Call) int { return a.n - b.n })
	for _, call := range refused {
		call.refusedBy(e, status)
		t.end(call)
	}
	return refused
}

// end notes that a call is over.
func (t *Transcript) end(call *Call) {
	if k := (CallKey{call.Dir, call.token}); t.tokens[k] == call {
		delete(t.tokens, k)
	}
	t.over.add(call)
}

// closedCalls are the latest calls that were answered: progress, a cancellation or a
// second answer may still come for them.
type closedCalls struct {
	ring [64]*Call
	n    int
}

func (c *closedCalls) add(call *Call) {
	c.ring[c.n%len(c.ring)] = call
	c.n++
}

// find returns the latest that fits, or nil.
func (c *closedCalls) find(fits func(*Call) bool) *Call {
	for i := 1; i <= min(c.n, len(c.ring)); i++ {
		if call := c.ring[(c.n-i)%len(c.ring)]; fits(call) {
			return call
		}
	}
	return nil
}

// withID returns the latest with an id.
func (c *closedCalls) withID(k CallKey) *Call {
	return c.find(func(call *Call) bool { return call.Dir == k.Dir && call.id == k.ID })
}

// Follow is Apply of an event that nobody wants to see, and whose messages were read.
func (t *Transcript) Follow(e store.Event, messages []transport.Message) {
	t.follow(e)
	for _, m := range messages {
		t.message(e, m)
	}
}

// AppendCalls appends the calls that the transcript remembers, with which
// [ResumeTranscript] goes on: how many requests there were; the calls in flight, in the
// order of direction and id, and of one id the latest last, with those that an HTTP status
// has answered and that may have a message besides; those that are over, the latest last.
func (t *Transcript) AppendCalls(b []byte) []byte {
	b = varint.Append(b, uint64(t.asked))
	keys := slices.SortedFunc(maps.Keys(t.open.calls), func(a, b CallKey) int {
		return cmp.Or(cmp.Compare(a.Dir, b.Dir), cmp.Compare(a.ID, b.ID))
	})
	var open []*Call
	for _, k := range keys {
		for _, x := range t.open.calls[k] {
			if !x.over {
				open = append(open, x.call)
			}
		}
	}
	b = varint.Append(b, uint64(len(open)))
	for _, c := range open {
		b = c.append(b, t.tokens[CallKey{c.Dir, c.token}] == c)
	}
	over := min(t.over.n, len(t.over.ring))
	b = varint.Append(b, uint64(over))
	for i := t.over.n - over; i < t.over.n; i++ {
		b = t.over.ring[i%len(t.over.ring)].append(b, false)
	}
	return b
}

// append appends a call of a transcript; holds says that progress with its token is its.
func (c *Call) append(b []byte, holds bool) []byte {
	flags := byte(0)
	if c.Late {
		flags |= 1
	}
	if holds {
		flags |= 2
	}
	b = append(b, byte(c.Dir), flags)
	b = varint.Append(b, c.Request, uint64(c.At), c.Stream, c.Response, uint64(c.Latency), c.Cancelled, uint64(c.n))
	return varint.AppendText(b, c.ID, c.Method, c.Target, c.Token, c.Failure)
}

// ResumeTranscript returns a transcript that goes on with the calls that AppendCalls has
// written.
func ResumeTranscript(calls []byte, emit func(Entry) error) (*Transcript, error) {
	t := NewTranscript(emit)
	r := varint.NewReader(calls)
	t.asked = int(r.Uint())
	refused := map[int]*Call{} // they are among both
	for n := r.Uint(); n > 0 && !r.Bad(); n-- {
		c, holds := callOf(&r)
		x := t.open.openAt(CallKey{c.Dir, c.id}, c.Stream, c)
		if c.Answered() {
			x.refused, c.refused, refused[c.n] = true, true, c
		}
		if holds {
			t.tokens[CallKey{c.Dir, c.token}] = c
		}
	}
	for n := r.Uint(); n > 0 && !r.Bad(); n-- {
		c, _ := callOf(&r)
		if same := refused[c.n]; same != nil {
			c = same
		}
		t.over.add(c)
		t.open.answeredAt(CallKey{c.Dir, c.id}, c.Stream, c)
	}
	if !r.Whole() {
		return nil, errors.New("resume transcript: not the calls of one")
	}
	return t, nil
}

// callOf reads a call.
func callOf(r *varint.Reader) (c *Call, holds bool) {
	b := r.Take(2)
	if len(b) < 2 {
		return &Call{}, false
	}
	c = &Call{
		Dir: transport.Direction(b[0]), Late: b[1]&1 != 0, Request: r.Uint(), At: time.Duration(r.Uint()), Stream: r.Uint(),
		Response: r.Uint(), Latency: time.Duration(r.Uint()), Cancelled: r.Uint(), n: int(r.Uint()),
	}
	for _, text := range [...]*string{&c.ID, &c.Method, &c.Target, &c.Token, &c.Failure} {
		*text = r.Text()
	}
	c.id, c.token = mcp.KeyOf([]byte(c.ID)), mcp.KeyOf([]byte(c.Token))
	return c, b[1]&2 != 0
}
