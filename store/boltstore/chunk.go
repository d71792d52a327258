package boltstore

import (
	"encoding/binary"
	"iter"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/chunk"
)

const chunkTarget = 640 << 10 // of events, before compression

// key is a key of bucket ev.
type key [24]byte

func chunkKey(id [16]byte, first uint64) (key key) {
	copy(key[:], id[:])
	binary.BigEndian.PutUint64(key[16:], first)
	return key
}

// session returns the id in a key.
func (k key) session() [16]byte { return [16]byte(k[:16]) }

// first returns the Seq of the first event of the chunk.
func (k key) first() uint64 { return binary.BigEndian.Uint64(k[16:]) }

// keyedChunk is an element of bucket ev. Its value is in the form of package store/chunk.
type keyedChunk struct {
	key  key
	data []byte
	last uint64 // of a chunk in a database: the Seq of its last event
}

// header checks a chunk without decompressing it.
func (c keyedChunk) header() (chunk.Header, error) {
	return chunk.ReadHeader(c.key.session(), c.key.first(), c.data)
}

// events decodes a chunk. The events own their payloads. An error ends the sequence.
func (c keyedChunk) events() iter.Seq2[store.Event, error] {
	return chunk.Events(c.key.session(), c.key.first(), c.data)
}

// chunker makes chunks of consecutive events.
type chunker struct {
	mask  func(store.Event) store.Event // nil: no masking
	id    [16]byte
	next  chunk.Builder
	first uint64 // of the chunk being filled
	done  []keyedChunk
}

// add adds an event.
func (c *chunker) add(event store.Event) {
	if c.next.Size() > 0 && c.next.Size()+len(event.Payload) > chunkTarget {
		c.flush()
	}
	if c.next.Size() == 0 {
		c.first = event.Seq
	}
	c.next.Add(&event)
}

// take adds events to a projection and to the chunks.
func (c *chunker) take(projection *projection, events []store.Event) error {
	for _, e := range events {
		if err := projection.take(c.id, e); err != nil {
			return err
		}
		c.add(e)
	}
	c.flush()
	return nil
}

// flush ends the chunk being filled.
func (c *chunker) flush() {
	if c.next.Size() > 0 {
		c.done = append(c.done, keyedChunk{key: chunkKey(c.id, c.first), data: c.next.Chunk(c.id)})
	}
}
