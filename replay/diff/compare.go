package diff

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Comparison compares two sessions, A and B, in steps: the events of both go to the sessions of
// Sides; Match pairs messages by digests; the events in Wants go to Take; Report pairs the rest
// and returns the differences.
type Comparison struct {
	options Options
	digest  *Digester
	names   *names
	sides
	texts [2]texts
}

// sides are the two sessions of a comparison.
type sides struct{ a, b *Session }

func (x sides) both() [2]*Session { return [2]*Session{x.a, x.b} }

// New returns a comparison of two empty sessions.
func New(d *Digester, o Options) *Comparison {
	n := &names{known: map[name]int32{}}
	return &Comparison{options: o, digest: d, names: n, sides: sides{newSession(d.seed, n), newSession(d.seed, n)}}
}

// Sides returns the sessions A and B.
func (c *Comparison) Sides() (a, b *Session) { return c.a, c.b }

// Match pairs messages by digests, without texts. The sessions are complete.
func (c *Comparison) Match() {
	for _, s := range c.both() {
		s.close()
	}
	c.pairing().byDigest()
}

func (c *Comparison) pairing() *pairing {
	return &pairing{sides: c.sides, texts: &c.texts, hash: &c.digest.hash}
}

// Report pairs the rest with the wanted texts, and returns the differences.
func (c *Comparison) Report() *Report {
	var clocks []match.Clock
	if c.a.Header.ID == "" || c.a.Header.ID != c.b.Header.ID { // else both are one recording
		for _, s := range c.both() {
			clocks = append(clocks, match.Clock{From: s.Header.Start, To: s.Header.Start.Add(s.took)})
		}
	}
	comparer := match.NewComparer(c.options.Rules, c.framesOfA, clocks...)
	c.pairing().byText(comparer)
	f := &findings{
		sides: c.sides, texts: &c.texts, names: c.names, anyOrder: c.options.Rules.AnyOrder,
		report: &Report{
			A: c.a.side(), B: c.b.side(), Counts: map[string]int{}, Notes: map[string]int{}, Mapped: map[string]int{},
		},
	}
	f.alone()
	changes := changeFinder{f, comparer}
	changes.payloads()
	if c.options.Bytes {
		changes.spellings()
	}
	order := orderFinder{f}
	order.aroundAnswers()
	order.withinCalls()
	for _, dir := range directions {
		order.calls(dir)
		order.answers(dir)
	}
	f.tools()
	f.statuses()
	f.endings()
	f.report.Timing = f.latencies()
	f.report.Slower = f.slower()
	return f.report
}

// framesOfA yields the taken frames of a direction of A.
func (c *Comparison) framesOfA(dir transport.Direction) iter.Seq2[int, transport.Frame] {
	return func(yield func(int, transport.Frame) bool) {
		last := uint64(0)
		for i := range c.a.list {
			m := &c.a.list[i]
			frame, ok := c.texts[0].frames[m.seq]
			if m.dir != dir || m.seq == last || !ok {
				continue
			}
			last = m.seq
			if !yield(int(m.seq), transport.Frame{Bytes: frame}) {
				return
			}
		}
	}
}

// KeptBytes is how much text of a session a comparison holds.
const KeptBytes = 64 << 20

// texts are the wanted frames of a session. The messages of a batch are
// kept apart: a batch of a hundred thousand is not parsed again for each message.
type texts struct {
	frames map[uint64][]byte
	parts  map[uint64][]json.RawMessage
	wanted []uint64
}

// Wants returns the Seqs of the events of a side (0 is A) whose texts Report needs, in order.
func (c *Comparison) Wants(side int) []uint64 {
	t := &c.texts[side]
	s := c.both()[side]
	size := 0
	for i := range s.list {
		m := &s.list[i]
		if m.pair != none && c.both()[1-side].list[m.pair].content == m.content {
			continue // the other session has the same
		}
		if len(t.wanted) > 0 && t.wanted[len(t.wanted)-1] == m.seq {
			continue
		}
		size += int(m.size)
		if size > KeptBytes {
			break
		}
		t.wanted = append(t.wanted, m.seq)
	}
	t.frames = make(map[uint64][]byte, len(t.wanted))
	t.parts = map[uint64][]json.RawMessage{}
	return t.wanted
}

// Take takes an event of a side, if Wants named the event.
func (c *Comparison) Take(side int, e store.Event) {
	t := &c.texts[side]
	if _, ok := slices.BinarySearch(t.wanted, e.Seq); !ok || e.Kind != store.Frame {
		return
	}
	frame := bytes.Clone(e.Payload)
	t.frames[e.Seq] = frame
	messages, err := transport.Frame{Bytes: frame}.Messages()
	if err != nil || len(messages) < 2 {
		return
	}
	parts := make([]json.RawMessage, len(messages))
	for i, m := range messages {
		parts[i] = m.Raw
	}
	t.parts[e.Seq] = parts
}

// message returns the text of a message; false if Take did not get the text.
func (t *texts) message(m *message) (transport.Message, bool) {
	frame, ok := t.frames[m.seq]
	if !ok {
		return transport.Message{}, false
	}
	parts := t.parts[m.seq]
	isPart := int(m.part) < len(parts)
	if isPart {
		frame = parts[m.part]
	}
	if m.kind == transport.Invalid { // noise is compared as a text
		text, _ := json.Marshal(string(bytes.TrimSpace(frame)))
		return transport.Message{Params: text}, true
	}
	if isPart {
		return transport.Pack(frame).Message(), true
	}
	messages, err := transport.Frame{Bytes: frame}.Messages()
	if err != nil || int(m.part) >= len(messages) {
		return transport.Message{}, false
	}
	return messages[m.part], true
}
