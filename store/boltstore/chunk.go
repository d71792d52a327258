package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/mcprec/mcprec/store"
)

const (
	chunkVersion = 1
	chunkHead    = 7         // of what has a fixed place
	chunkTarget  = 640 << 10 // of events, before compression
	dictSize     = 32 << 10  // of events, below which the dictionary pays
	maxChunk     = 2 << 30   // a longer one is no chunk
)

// key is a key of bucket ev.
type key [24]byte

func chunkKey(id [16]byte, first uint64) (k key) {
	copy(k[:], id[:])
	binary.BigEndian.PutUint64(k[16:], first)
	return k
}

// chunk is a value of bucket ev.
type chunk struct {
	key  key
	data []byte
}

// How the body of a chunk is compressed.
const (
	compressNone = 0
	compressZstd = 1
	compressDict = 2 // zstd with the dictionary
)

// The encoders are small because they work inside a recorder: one block at a
// time and a window that is hardly smaller than a chunk.
var (
	encoder     = sync.OnceValue(func() *zstd.Encoder { return newEncoder(zstd.WithWindowSize(512 << 10)) })
	dictEncoder = sync.OnceValue(func() *zstd.Encoder {
		return newEncoder(zstd.WithWindowSize(2*dictSize), zstd.WithEncoderDictRaw(1, []byte(dictionary)))
	})
)

func newEncoder(o ...zstd.EOption) *zstd.Encoder {
	e, err := zstd.NewWriter(nil, append(o, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))...)
	if err != nil {
		panic("boltstore: unreachable: the options are valid: " + err.Error())
	}
	return e
}

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxChunk),
		zstd.WithDecoderDictRaw(1, []byte(dictionary)))
	if err != nil {
		panic("boltstore: unreachable: the options are valid: " + err.Error())
	}
	return d
})

// chunker makes chunks of events that follow each other.
type chunker struct {
	id     [16]byte
	events []byte // records of the chunk being filled
	first  uint64
	last   store.Head
	done   []chunk
}

// add takes an event and the head that it makes.
func (c *chunker) add(e store.Event, head store.Head) {
	if len(c.events) > 0 && len(c.events)+len(e.Payload) > chunkTarget {
		c.flush()
	}
	if len(e.Payload) > largeEvent {
		c.flush()
		c.large(e, head)
		return
	}
	if len(c.events) == 0 {
		c.first = e.Seq
	}
	var buf [64]byte
	form := store.AppendPartHead(buf[:0], &store.Part{Event: e})
	c.events = binary.AppendUvarint(c.events, uint64(len(form)+len(e.Payload)))
	c.events = append(c.events, form...)
	c.events = append(c.events, e.Payload...)
	c.last = head
}

// take adds the events that follow a projection, to both.
func (c *chunker) take(p *projection, events []store.Event) error {
	for _, e := range events {
		if err := p.take(c.id, e); err != nil {
			return err
		}
		c.add(e, p.session.Head)
	}
	c.flush()
	return nil
}

// largeEvent is from when on an event is a chunk of its own, which is made without a
// copy of the event.
const largeEvent = 4 * chunkTarget

// large makes a chunk of one event.
func (c *chunker) large(e store.Event, head store.Head) {
	var buf [64]byte
	form := store.AppendPartHead(buf[:0], &store.Part{Event: e})
	record := append(binary.AppendUvarint(nil, uint64(len(form)+len(e.Payload))), form...)
	k, size := chunkKey(c.id, e.Seq), len(record)+len(e.Payload)
	b := make([]byte, chunkHead, chunkHead+2*binary.MaxVarintLen64+size+size>>8)
	b = binary.AppendUvarint(b, 1)
	b = binary.AppendUvarint(b, uint64(size))
	start := len(b)
	packed := bytes.NewBuffer(b)
	enc := newEncoder(zstd.WithWindowSize(512 << 10))
	enc.Reset(packed)
	_, err := enc.Write(record)
	if err == nil {
		_, err = enc.Write(e.Payload)
	}
	compression := byte(compressZstd)
	if err = errors.Join(err, enc.Close()); err != nil || packed.Len()-start >= size {
		compression = compressNone
		b = append(append(b, record...), e.Payload...)
	} else {
		b = packed.Bytes()
	}
	c.last = head
	c.seal(k, b, compression)
}

// seal completes a chunk.
func (c *chunker) seal(k key, b []byte, compression byte) {
	b[4], b[5], b[6] = chunkVersion, store.CodecVersion, compression
	binary.LittleEndian.PutUint32(b, chunkSum(k, b))
	c.done = append(c.done, chunk{key: k, data: b})
}

// flush ends the chunk being filled.
func (c *chunker) flush() {
	if len(c.events) == 0 {
		return
	}
	k := chunkKey(c.id, c.first)
	b := make([]byte, chunkHead, chunkHead+2*binary.MaxVarintLen64+len(c.events)/3)
	b = binary.AppendUvarint(b, c.last.Seq-c.first+1)
	b = binary.AppendUvarint(b, uint64(len(c.events)))
	head := len(b)
	compression := byte(compressZstd)
	if len(c.events) < dictSize {
		compression = compressDict
		b = dictEncoder().EncodeAll(c.events, b)
	} else {
		b = encoder().EncodeAll(c.events, b)
	}
	if len(b)-head >= len(c.events) {
		compression = compressNone
		b = append(b[:head], c.events...)
	}
	c.seal(k, b, compression)
	c.events = c.events[:0]
}

func chunkSum(k key, b []byte) uint32 {
	return crc32.Update(crc32.Checksum(k[:], castagnoli), castagnoli, b[4:])
}

// chunkFacts is the header of a chunk.
type chunkFacts struct {
	first, last uint64
	size        int // before compression
	compression byte
	body        []byte
}

// facts checks a chunk, all but what its compression hides.
func (c chunk) facts() (f chunkFacts, err error) {
	b := c.data
	switch {
	case len(b) < chunkHead:
		return f, fmt.Errorf("no chunk header: %w", store.ErrCorrupt)
	case chunkSum(c.key, b) != binary.LittleEndian.Uint32(b):
		return f, fmt.Errorf("checksum of a chunk: %w", store.ErrCorrupt)
	case b[4] > chunkVersion || b[5] > store.CodecVersion || b[6] > compressDict:
		return f, fmt.Errorf("chunk version %d, codec version %d, compression %d: %w; install a newer mcprec", b[4], b[5], b[6], store.ErrNewer)
	}
	d := scanner{b: b[chunkHead:]}
	n, size := d.uvarint(), d.uvarint()
	f.first, f.size, f.compression, f.body = binary.BigEndian.Uint64(c.key[16:]), int(size), b[6], d.b
	if f.last = f.first + n - 1; d.bad || f.last < f.first || size > maxChunk {
		return f, fmt.Errorf("range of a chunk: %w", store.ErrCorrupt)
	}
	return f, nil
}

// events decodes a chunk and gives its events to yield until that says no. The
// events own their payloads.
func (c chunk) events(yield func(store.Event) bool) error {
	f, err := c.facts()
	if err != nil {
		return err
	}
	body := f.body
	if f.compression != compressNone { // the decoder is quicker with some room to spare
		if body, err = decoder().DecodeAll(body, make([]byte, 0, f.size+64)); err != nil {
			return fmt.Errorf("chunk: %v: %w", err, store.ErrCorrupt)
		}
	}
	if len(body) != f.size {
		return fmt.Errorf("length of a chunk: %w", store.ErrCorrupt)
	}
	for seq := f.first; seq <= f.last; seq++ {
		n, w := binary.Uvarint(body)
		if w <= 0 || n > uint64(len(body)-w) {
			return fmt.Errorf("event %d: its length: %w", seq, store.ErrCorrupt)
		}
		p, err := store.DecodePart(body[w : w+int(n) : w+int(n)])
		if err != nil {
			return err
		}
		if p.Seq != seq || p.Cont || p.More {
			return fmt.Errorf("event %d: found event %d: %w", seq, p.Seq, store.ErrCorrupt)
		}
		if !yield(p.Event) {
			return nil
		}
		body = body[w+int(n):]
	}
	if len(body) != 0 {
		return fmt.Errorf("event %d: bytes after it: %w", f.last, store.ErrCorrupt)
	}
	return nil
}

// last returns the Seq of the last event of a chunk whose facts were checked.
func (c chunk) last() uint64 {
	n, _ := binary.Uvarint(c.data[chunkHead:])
	return binary.BigEndian.Uint64(c.key[16:]) + n - 1
}
