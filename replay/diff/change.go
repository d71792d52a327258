package diff

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// findChanged tells where messages that stand for each other differ. What is made up is
// learned from all of them first.
func (c *Comparison) findChanged() {
	c.eachChanged(func(a, b *message, x, y transport.Message) {
		if a.kind != transport.Notification && a.kind != transport.Invalid {
			c.compare.Learn(a.dir, a.seq, x, y)
		}
	})
	c.eachChanged(c.changed)
	c.findUnread()
	if !c.options.Bytes {
		return
	}
	a, b := c.sides[0], c.sides[1]
	for i := range a.list {
		m := &a.list[i]
		if m.pair == none || b.list[m.pair].content != m.content || b.list[m.pair].bytes == m.bytes {
			continue
		}
		c.find(Finding{
			Section: Bytes, Kind: Changed, A: []uint64{m.seq}, B: []uint64{b.list[m.pair].seq},
			What: c.what(a, m), Text: "spelled otherwise",
		})
	}
}

// eachChanged yields the pairs whose contents differ, with their texts, in the order of A.
func (c *Comparison) eachChanged(do func(a, b *message, x, y transport.Message)) {
	for i := range c.sides[0].list {
		a := &c.sides[0].list[i]
		if a.pair == none || c.sides[1].list[a.pair].content == a.content {
			continue
		}
		b := &c.sides[1].list[a.pair]
		x, ok := c.texts[0].message(a)
		y, also := c.texts[1].message(b)
		if ok && also {
			do(a, b, x, y)
		}
	}
}

// changed compares one pair.
func (c *Comparison) changed(a, b *message, x, y transport.Message) {
	compare := c.compare.Compare
	if c.report.Counts[Payload] >= KeptFindings {
		compare = c.compare.Count
	}
	found := compare(a.dir, x, y)
	for _, m := range found.Mapped {
		c.report.Mapped[m.By]++
	}
	if found.Same() {
		return
	}
	s := c.sides[0]
	f := Finding{
		Section: Payload, Kind: Changed, A: []uint64{a.seq}, B: []uint64{b.seq}, What: c.what(s, a),
		Differences: found.Differences, More: found.More,
	}
	switch method := c.names.list[a.name].method; {
	case method == methodInitialize || method == methodDiscover:
		f.Section = Capabilities
	case method == methodTools && a.kind == transport.Response:
		if f.withoutTools(); len(f.Differences) == 0 && f.More == 0 {
			return
		}
	}
	f.Text = sentence(f.Differences)
	c.find(f)
}

// withoutTools leaves out what the section on tools tells better.
func (f *Finding) withoutTools() {
	var rest []replay.Difference
	for _, d := range f.Differences {
		if !strings.HasPrefix(d.Path, "/result/tools/") {
			rest = append(rest, d)
		}
	}
	if len(rest) < len(f.Differences) {
		f.More = 0 // most likely of the tools too
	}
	f.Differences = rest
}

// sentence tells a change in one line where a result stands against an error.
func sentence(list []replay.Difference) string {
	if len(list) != 2 || list[0].Path != "/result" || list[1].Path != "/error" {
		return ""
	}
	if list[0].Got == "nothing" {
		return "a result in A, an error in B"
	}
	return "an error in A, a result in B"
}

// findUnread counts what differs beyond the texts that are held.
func (c *Comparison) findUnread() {
	for i := range c.sides[0].list {
		a := &c.sides[0].list[i]
		if a.pair == none {
			continue
		}
		b := &c.sides[1].list[a.pair]
		if a.content == b.content || c.hasTexts(a, b) {
			continue
		}
		c.report.Unread++
		c.find(Finding{
			Section: Payload, Kind: Changed, A: []uint64{a.seq}, B: []uint64{b.seq}, What: c.what(c.sides[0], a),
			Text: fmt.Sprintf("where, was not looked for: more than %d MiB differ", KeptBytes>>20),
		})
	}
}

func (c *Comparison) hasTexts(a, b *message) bool {
	_, ok := c.texts[0].frames[a.seq]
	_, also := c.texts[1].frames[b.seq]
	return ok && also
}

// KeptBytes is how much text is held of a session.
const KeptBytes = 64 << 20

// texts are the frames that were wanted, and the messages of those that are batches:
// one of a hundred thousand is not read again for each.
type texts struct {
	frames map[uint64][]byte
	parts  map[uint64][]json.RawMessage
	wanted []uint64
}

// Wants returns the Seqs of the events of a side (0 is A) whose text is needed, in order.
func (c *Comparison) Wants(side int) []uint64 {
	s, t := c.sides[side], &c.texts[side]
	size := 0
	for i := range s.list {
		m := &s.list[i]
		if !c.isOpen(side, m) || len(t.wanted) > 0 && t.wanted[len(t.wanted)-1] == m.seq {
			continue
		}
		if size += int(m.size); size > KeptBytes {
			break
		}
		t.wanted = append(t.wanted, m.seq)
	}
	t.frames = make(map[uint64][]byte, len(t.wanted))
	t.parts = map[uint64][]json.RawMessage{}
	return t.wanted
}

// isOpen reports whether a message is not yet known to be in the other session too.
func (c *Comparison) isOpen(side int, m *message) bool {
	if m.pair == none {
		return true
	}
	return c.sides[1-side].list[m.pair].content != m.content
}

// Take is given the events that are wanted, and may be given others.
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

// message returns a message that was taken.
func (t *texts) message(m *message) (transport.Message, bool) {
	frame, ok := t.frames[m.seq]
	if !ok {
		return transport.Message{}, false
	}
	if parts := t.parts[m.seq]; int(m.part) < len(parts) {
		if m.kind == transport.Invalid {
			return noiseMessage(parts[m.part]), true
		}
		return transport.Pack(parts[m.part]).Message(), true
	}
	if m.kind == transport.Invalid {
		return noiseMessage(frame), true
	}
	messages, err := transport.Frame{Bytes: frame}.Messages()
	if err != nil || int(m.part) >= len(messages) {
		return transport.Message{}, false
	}
	return messages[m.part], true
}

// noiseMessage lets what is no message be compared as a text.
func noiseMessage(frame []byte) transport.Message {
	text, _ := json.Marshal(string(bytes.TrimSpace(frame)))
	return transport.Message{Params: text}
}

// said yields the frames of a direction of A that were taken.
func (c *Comparison) said(dir transport.Direction) iter.Seq2[int, transport.Frame] {
	return func(yield func(int, transport.Frame) bool) {
		s, last := c.sides[0], uint64(0)
		for i := range s.list {
			m := &s.list[i]
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

// Latency is how long the calls to one tool, or of one method, took in both sessions.
type Latency struct {
	What   string        `json:"what"`
	CallsA int           `json:"calls_a"`
	CallsB int           `json:"calls_b"`
	P50A   time.Duration `json:"p50_a_ns"`
	P50B   time.Duration `json:"p50_b_ns"`
	P95A   time.Duration `json:"p95_a_ns"`
	P95B   time.Duration `json:"p95_b_ns"`
	Ratio  float64       `json:"ratio"` // of the medians, B's to A's; 0 where there is none
}

// Slower is a call that took much longer in one session than in the other.
type Slower struct {
	What string        `json:"what"`
	A    uint64        `json:"a"`
	B    uint64        `json:"b"`
	InA  time.Duration `json:"in_a_ns"`
	InB  time.Duration `json:"in_b_ns"`
}

// What counts as much longer, and how many are told.
const (
	muchSlower   = 5
	slowerBy     = 100 * time.Millisecond
	slowestCalls = 10
)

// measure compares how long the client's calls took.
func (c *Comparison) measure() {
	var took [2]map[int32][]time.Duration
	for side, s := range c.sides {
		took[side] = map[int32][]time.Duration{}
		for i := range s.list {
			if m := &s.list[i]; m.kind == transport.Request && m.reply != none && m.dir == transport.ClientToServer && s.isChosen(m.seq) {
				took[side][m.name] = append(took[side][m.name], s.latency(m))
			}
		}
	}
	for at, n := range c.names.list {
		a, b := took[0][int32(at)], took[1][int32(at)]
		if len(a) == 0 && len(b) == 0 {
			continue
		}
		slices.Sort(a)
		slices.Sort(b)
		t := Latency{
			What: n.String(), CallsA: len(a), CallsB: len(b),
			P50A: quantile(a, 50), P50B: quantile(b, 50), P95A: quantile(a, 95), P95B: quantile(b, 95),
		}
		if t.P50A > 0 && len(b) > 0 {
			t.Ratio = float64(t.P50B) / float64(t.P50A)
		}
		c.report.Timing = append(c.report.Timing, t)
	}
	slices.SortStableFunc(c.report.Timing, func(x, y Latency) int { return cmp.Compare(x.What, y.What) })
	a, b := c.sides[0], c.sides[1]
	var list []Slower
	for i := range a.list {
		m := &a.list[i]
		if m.kind != transport.Request || m.dir != transport.ClientToServer || m.pair == none || m.reply == none || b.list[m.pair].reply == none {
			continue
		}
		if !a.isChosen(m.seq) && !b.isChosen(b.list[m.pair].seq) {
			continue
		}
		one := Slower{A: m.seq, B: b.list[m.pair].seq, InA: a.latency(m), InB: b.latency(&b.list[m.pair])}
		low, high := min(one.InA, one.InB), max(one.InA, one.InB)
		if high-low < slowerBy || high < muchSlower*low {
			continue
		}
		one.What = c.names.list[m.name].String()
		if list = append(list, one); len(list) > 100*slowestCalls {
			list = slowest(list)
		}
	}
	c.report.Slower = slowest(list)
}

func (s *Session) latency(m *message) time.Duration { return max(0, s.list[m.reply].at-m.at) }

// quantile returns how long the fastest percent took at most.
func quantile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max((len(sorted)*percent+99)/100, 1)-1]
}

// slowest keeps the calls that differ most.
func slowest(list []Slower) []Slower {
	slices.SortStableFunc(list, func(x, y Slower) int { return cmp.Compare((y.InB - y.InA).Abs(), (x.InB - x.InA).Abs()) })
	return list[:min(len(list), slowestCalls)]
}
