package replay

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Transcript is the projection that tells a session as a timeline. It gives out
// one entry for each event, at once, and remembers only the calls in flight, and the
// latest that are over.
type Transcript struct {
	emit   func(Entry) error
	open   inFlight[*Call]
	tokens map[callKey]*Call // of the calls in open
	over   closedCalls
	asked  int      // requests so far
	ahead  *Endings // what becomes of each; nil: nobody knows
}

// NewTranscript returns a transcript that gives its entries to emit. An error of
// emit ends the fold.
func NewTranscript(emit func(Entry) error) *Transcript {
	return &Transcript{emit: emit, open: inFlight[*Call]{}, tokens: map[callKey]*Call{}}
}

// Foresee tells the transcript of a log how its calls end, so that the entry of a
// request has its answer. To be called before the first event.
func (t *Transcript) Foresee(e *Endings) { t.ahead = e }

// Apply gives out the event's entry.
func (t *Transcript) Apply(e store.Event) error {
	entry := Entry{
		Seq: e.Seq, At: e.At, Kind: e.Kind, Dir: e.Dir, Stream: e.Stream,
		Size: len(e.Payload), Unterminated: e.Unterminated, Redacted: e.Redacted, Cut: e.Cut, Payload: e.Payload,
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
	em := EntryMessage{Kind: m.Kind(), Method: m.Method, ID: string(m.ID), Target: target(m)}
	switch em.Kind {
	case transport.Request:
		em.Token = string(m.ProgressToken())
		em.Call = t.request(e, em)
	case transport.Notification:
		t.notification(e, m, &em)
	case transport.Response:
		t.response(e, m, &em)
	}
	if em.isLate(e.Seq) {
		em.Late, em.Call.Late = true, true
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
	t.ahead.foretell(call)
	t.open.openAt(callKey{e.Dir, call.id}, e.Stream, call)
	if call.token != "" {
		t.tokens[callKey{e.Dir, call.token}] = call
	}
	return call
}

func (t *Transcript) notification(e store.Event, m transport.Message, em *EntryMessage) {
	switch m.Method {
	case methodProgress:
		if em.Token = string(m.ProgressToken()); em.Token == "" {
			return
		}
		k := keyOf(e.Dir.Reverse(), m.ProgressToken())
		if em.Call = t.tokens[k]; em.Call == nil {
			em.Call = t.over.find(func(c *Call) bool { return c.Dir == k.dir && c.token == k.id })
		}
	case methodCancelled:
		id := cancels(m)
		if id == nil {
			return
		}
		call, ok := t.open.latest(e.Dir, id)
		if !ok {
			em.Call = t.over.named(keyOf(e.Dir, id))
			return
		}
		em.Request, em.Call, call.Cancelled = call.Request, call, e.Seq
	}
}

func (t *Transcript) response(e store.Event, m transport.Message, em *EntryMessage) {
	call, ok := t.open.close(e.Dir.Reverse(), e.Stream, m.ID)
	if ok {
		em.Request, em.Method, em.Target = call.Request, call.Method, call.Target
		em.Latency = e.At - call.At
	}
	em.Failure = failure(m, em.Method)
	if !ok {
		em.Call = t.over.answeredOn(e.Stream, keyOf(e.Dir.Reverse(), m.ID))
		return
	}
	em.Call, call.Response, call.Latency, call.Failure = call, e.Seq, em.Latency, em.Failure
	if !call.refused { // by the status that the message came with
		t.end(call)
	}
}

// follow takes in what HTTP says of the calls of an exchange, and returns those that its
// status answers.
func (t *Transcript) follow(e store.Event) []*Call {
	if e.Kind != store.HTTP {
		return nil
	}
	refused, status := t.open.follow(e)
	slices.SortFunc(refused, func(a, b *Call) int { return a.n - b.n })
	for _, call := range refused {
		call.refusedBy(e, status)
		t.end(call)
	}
	return refused
}

// end notes that a call is over.
func (t *Transcript) end(call *Call) {
	if k := (callKey{call.Dir, call.token}); t.tokens[k] == call {
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

// named returns the latest with an id.
func (c *closedCalls) named(k callKey) *Call {
	return c.find(func(call *Call) bool { return call.Dir == k.dir && call.id == k.id })
}

// answeredOn returns the latest with an id, of the exchange if there is one.
func (c *closedCalls) answeredOn(stream uint64, k callKey) *Call {
	if call := c.find(func(call *Call) bool { return call.Stream == stream && call.Dir == k.dir && call.id == k.id }); call != nil {
		return call
	}
	return c.named(k)
}

// eventText says what an event that is no frame means.
func eventText(e store.Event) string {
	switch e.Kind {
	case store.Opened:
		if h, err := store.ParseHeader(e.Payload); err == nil {
			return openedText(h)
		}
	case store.Delivered:
		if info, err := store.DecodePayload[store.DeliveredInfo](e); err == nil {
			return fmt.Sprintf("up to #%d, the write blocked for %v", info.Upto, info.Blocked)
		}
	case store.HTTP:
		if info, err := store.DecodePayload[store.HTTPInfo](e); err == nil {
			return httpText(info)
		}
	case store.EOF:
		if info, err := store.DecodePayload[store.EOFInfo](e); err == nil {
			return strings.TrimSuffix(fmt.Sprintf("by the %s: %s", info.By, clip(info.Error)), ": ")
		}
	case store.Exited:
		if info, err := store.DecodePayload[store.ExitInfo](e); err == nil {
			return clip(info.String())
		}
	case store.Lost:
		if info, err := store.DecodePayload[store.LostInfo](e); err == nil {
			return fmt.Sprintf("%s, %d B: %s", phrase.Plural(info.Frames, "event"), info.Bytes, clip(info.Reason))
		}
	case store.Closed:
		if info, err := store.DecodePayload[store.ClosedInfo](e); err == nil {
			return fmt.Sprintf("%s, %d lost", phrase.Plural(info.Frames, "frame"), info.Lost)
		}
	}
	return excerpt(e.Payload)
}

func openedText(h store.Header) string {
	label := ""
	if h.Label != "" {
		label = strconv.Quote(h.Label)
	}
	var values []string
	for _, name := range slices.Sorted(maps.Keys(h.Labels)) {
		values = append(values, strconv.Quote(name+"="+h.Labels[name]))
	}
	parts := []string{h.Transport, label, strings.Join(values, " "), h.URL, clip(strings.Join(h.Command, " "))}
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, " ")
}

// excerpt returns the beginning of bytes that mean nothing here, on one line.
func excerpt(b []byte) string {
	const limit = 80
	text := strings.ToValidUTF8(string(b[:min(len(b), limit)]), "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, text)
	if len(b) > limit {
		text += "…"
	}
	return strings.TrimSpace(text)
}
