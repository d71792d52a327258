package replay

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Follow is Apply of a frame that nobody wants to see, and whose messages were read.
func (t *Transcript) Follow(e store.Event, messages []transport.Message) {
	for _, m := range messages {
		t.message(e, m)
	}
}

// AppendCalls appends the calls that the transcript remembers, with which
// [ResumeTranscript] goes on: how many requests there were; the calls in flight, in the
// order of direction and id, and of one id the latest last; those that are over, the
// latest last.
func (t *Transcript) AppendCalls(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(t.asked))
	n := 0
	for _, calls := range t.open.calls {
		n += len(calls)
	}
	b = binary.AppendUvarint(b, uint64(n))
	keys := slices.SortedFunc(maps.Keys(t.open.calls), func(a, b callKey) int {
		return cmp.Or(cmp.Compare(a.dir, b.dir), cmp.Compare(a.id, b.id))
	})
	for _, k := range keys {
		for _, c := range t.open.calls[k] {
			b = c.append(b, t.tokens[callKey{c.Dir, c.Token}] == c)
		}
	}
	over := min(t.over.n, len(t.over.ring))
	b = binary.AppendUvarint(b, uint64(over))
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
	for _, n := range [...]uint64{c.Request, uint64(c.At), c.Stream, c.Response, uint64(c.Latency), c.Cancelled, uint64(c.n)} {
		b = binary.AppendUvarint(b, n)
	}
	for _, text := range [...]string{c.ID, c.Method, c.Target, c.Token, c.Failure} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b
}

// ResumeTranscript returns a transcript that goes on with the calls that AppendCalls has
// written.
func ResumeTranscript(calls []byte, emit func(Entry) error) (*Transcript, error) {
	t := NewTranscript(emit)
	r := callReader{b: calls}
	t.asked = int(r.number())
	for n := r.number(); n > 0 && !r.bad; n-- {
		c, holds := r.call()
		t.open.open(c.Dir, []byte(c.ID), c)
		if holds {
			t.tokens[callKey{c.Dir, c.Token}] = c
		}
	}
	for n := r.number(); n > 0 && !r.bad; n-- {
		c, _ := r.call()
		t.over.add(c)
	}
	if r.bad || len(r.b) > 0 {
		return nil, errors.New("resume transcript: not the calls of one")
	}
	return t, nil
}

// callReader reads calls. Behind what is not there it is bad, and all is 0.
type callReader struct {
	b   []byte
	bad bool
}

func (r *callReader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *callReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *callReader) call() (c *Call, holds bool) {
	b := r.take(2)
	if len(b) < 2 {
		return &Call{}, false
	}
	c = &Call{
		Dir: transport.Direction(b[0]), Late: b[1]&1 != 0, Request: r.number(), At: time.Duration(r.number()), Stream: r.number(),
		Response: r.number(), Latency: time.Duration(r.number()), Cancelled: r.number(), n: int(r.number()),
	}
	for _, text := range [...]*string{&c.ID, &c.Method, &c.Target, &c.Token, &c.Failure} {
		*text = string(r.take(r.number()))
	}
	return c, b[1]&2 != 0
}
