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

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
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
	for i := range c.sides[0].list {
		a := &c.sides[0].list[i]
		if a.pair == none || a.content == c.sides[1].list[a.pair].content {
			continue
		}
		b := &c.sides[1].list[a.pair]
		_, inA := c.texts[0].frames[a.seq]
		_, inB := c.texts[1].frames[b.seq]
		if inA && inB {
			continue
		}
		c.report.Unread++
		c.find(Finding{
			Section: Payload, Kind: Changed, A: []uint64{a.seq}, B: []uint64{b.seq}, What: c.what(c.sides[0], a),
			Text: fmt.Sprintf("where, was not looked for: more than %d MiB differ", KeptBytes>>20),
		})
	}
	if !c.options.Bytes {
		return
	}
	for i := range c.sides[0].list {
		a := &c.sides[0].list[i]
		if a.pair == none {
			continue
		}
		if b := &c.sides[1].list[a.pair]; a.content == b.content && a.bytes != b.bytes {
			c.find(Finding{
				Section: Bytes, Kind: Changed, A: []uint64{a.seq}, B: []uint64{b.seq},
				What: c.what(c.sides[0], a), Text: "spelled otherwise",
			})
		}
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
	f := Finding{
		Section: Payload, Kind: Changed, A: []uint64{a.seq}, B: []uint64{b.seq}, What: c.what(c.sides[0], a),
		More: found.More,
	}
	method := c.names.list[a.name].method
	if method == mcp.MethodInitialize || method == mcp.MethodDiscover {
		f.Section = Capabilities
	}
	for _, d := range found.Differences {
		if method == mcp.MethodListTools && a.kind == transport.Response && strings.HasPrefix(d.Path, "/result/tools/") {
			f.More = 0 // the section on tools tells of these, and most likely of the others too
			continue
		}
		f.Differences = append(f.Differences, d)
	}
	if len(f.Differences) == 0 && f.More == 0 {
		return
	}
	if list := f.Differences; len(list) == 2 && list[0].Path == "/result" && list[1].Path == "/error" {
		f.Text = "an error in A, a result in B"
		if list[0].Got == "nothing" {
			f.Text = "a result in A, an error in B"
		}
	}
	c.find(f)
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
		if m.pair != none && c.sides[1-side].list[m.pair].content == m.content {
			continue // the other session has it too
		}
		if len(t.wanted) > 0 && t.wanted[len(t.wanted)-1] == m.seq {
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

// said yields the frames of a direction of A that were taken.
func (c *Comparison) said(dir transport.Direction) iter.Seq2[int, transport.Frame] {
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
			m := &s.list[i]
			if m.isAnsweredCall() && s.isChosen(m.seq) {
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
		if !m.isAnsweredCall() || m.pair == none || b.list[m.pair].reply == none {
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

func (m *message) isAnsweredCall() bool {
	return m.kind == transport.Request && m.dir == transport.ClientToServer && m.reply != none
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
