package replay

import (
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
	keys := slices.SortedFunc(maps.Keys(t.open.calls), func(a, b callKey) int {
		return cmp.Or(cmp.Compare(a.dir, b.dir), cmp.Compare(a.id, b.id))
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
		b = c.append(b, t.tokens[callKey{c.Dir, c.token}] == c)
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
		x := t.open.openAt(callKey{c.Dir, c.id}, c.Stream, c)
		if c.Answered() {
			x.refused, c.refused, refused[c.n] = true, true, c
		}
		if holds {
			t.tokens[callKey{c.Dir, c.token}] = c
		}
	}
	for n := r.Uint(); n > 0 && !r.Bad(); n-- {
		c, _ := callOf(&r)
		if same := refused[c.n]; same != nil {
			c = same
		}
		t.over.add(c)
		t.open.answeredAt(callKey{c.Dir, c.id}, c.Stream, c)
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
