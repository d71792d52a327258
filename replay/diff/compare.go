package diff

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Comparison compares two sessions, A and B, in steps: the events of both go to the sessions
// that Sides returns; Match pairs messages by their digests; Take gets the events that Wants
// names; Report pairs the rest and returns the differences.
type Comparison struct {
	options Options
	digest  *Digester
	names   *names
	sides   [2]*Session
	texts   [2]texts
}

// New returns a comparison of two sessions whose events are still to come.
func New(d *Digester, o Options) *Comparison {
	c := &Comparison{options: o, digest: d, names: &names{known: map[name]int32{}}}
	for i := range c.sides {
		c.sides[i] = &Session{
			seed: d.seed, names: c.names, index: timeline.NewIndex[uint64, int32](keptAnswered),
			tools: map[string]uint64{}, lines: map[uint64]int{}, status: map[uint64]int{},
		}
	}
	return c
}

// Sides returns the sessions A and B.
func (c *Comparison) Sides() (a, b *Session) { return c.sides[0], c.sides[1] }

// Match pairs everything that can be paired without a text. The sessions are complete.
func (c *Comparison) Match() {
	for _, s := range c.sides {
		s.close()
	}
	c.pairing().byDigest()
}

func (c *Comparison) pairing() *pairing {
	return &pairing{sides: c.sides, texts: &c.texts, hash: &c.digest.hash}
}

// Report pairs the rest, when all wanted texts are there, and returns the differences.
func (c *Comparison) Report() *Report {
	a, b := c.sides[0], c.sides[1]
	var clocks []match.Clock
	if a.Header.ID == "" || a.Header.ID != b.Header.ID { // else both are one recording
		for _, s := range c.sides {
			clocks = append(clocks, match.Clock{From: s.Header.Start, To: s.Header.Start.Add(s.took)})
		}
	}
	comparer := match.NewComparer(c.options.Rules, c.framesOfA, clocks...)
	c.pairing().byText(comparer)
	f := &findings{
		sides: c.sides, texts: &c.texts, names: c.names, anyOrder: c.options.Rules.AnyOrder,
		report: &Report{
			A: a.side(), B: b.side(), Counts: map[string]int{}, Notes: map[string]int{}, Mapped: map[string]int{},
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
	f.report.Timing, f.report.Slower = f.latencies(), f.slower()
	return f.report
}

// framesOfA yields the frames of a direction of A that were taken.
func (c *Comparison) framesOfA(dir transport.Direction) iter.Seq2[int, transport.Frame] {
	return func(yield func(int, transport.Frame) bool) {
		last := uint64(0)
		for i := range c.sides[0].list {
			m := &c.sides[0].list[i]
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

// texts are the frames of a session that the comparison wanted. The messages of a batch are
// kept apart: a batch of a hundred thousand is not parsed again for each message.
type texts struct {
	frames map[uint64][]byte
	parts  map[uint64][]json.RawMessage
	wanted []uint64
}

// Wants returns the Seqs of the events of a side (0 is A) whose texts Report needs, in order.
func (c *Comparison) Wants(side int) []uint64 {
	s, t := c.sides[side], &c.texts[side]
	size := 0
	for i := range s.list {
		m := &s.list[i]
		if m.pair != none && c.sides[1-side].list[m.pair].content == m.content {
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

// message returns the text of a message; false if it was not taken.
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
