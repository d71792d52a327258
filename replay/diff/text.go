package diff

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

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
