package boltstore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/mcprec/mcprec/store"
	chunkform "github.com/mcprec/mcprec/store/chunk"
	"github.com/mcprec/mcprec/store/varint"
)

const (
	chunkVersion = 1
	chunkHead    = 7         // length of the fixed part
	chunkTarget  = 640 << 10 // of events, before compression
	dictSize     = 32 << 10  // the dictionary helps smaller chunks
	maxChunk     = 2 << 30   // no chunk is longer
	maxShared    = 64 << 20  // no chunk of several events is longer
)

// key is a key of bucket ev.
type key [24]byte

func chunkKey(id [16]byte, first uint64) (key key) {
	copy(key[:], id[:])
	binary.BigEndian.PutUint64(key[16:], first)
	return key
}

// chunk is a value of bucket ev.
type chunk struct {
	key  key
	data []byte
	last uint64 // of a chunk in a database: the Seq of its last event
}

// How the body of a chunk is compressed.
const (
	compressNone = 0
	compressZstd = 1
	compressDict = 2 // zstd with the dictionary
)

// The encoders are small, for use inside a recorder: one block at a time, and a
// window hardly smaller than a chunk.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		// Entropy coding makes an image in base64 a quarter shorter.
		return newEncoder(zstd.WithWindowSize(512<<10), zstd.WithAllLitEntropyCompression(true))
	})
	dictEncoder = sync.OnceValue(func() *zstd.Encoder {
		return newEncoder(zstd.WithWindowSize(2*dictSize), zstd.WithEncoderDictRaw(1, []byte(chunkform.Dictionary)))
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
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxChunk), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderDictRaw(1, []byte(chunkform.Dictionary)))
	if err != nil {
		panic("boltstore: unreachable: the options are valid: " + err.Error())
	}
	return d
})

// chunker makes chunks of consecutive events.
type chunker struct {
	mask   func(store.Event) store.Event // nil: no masking
	id     [16]byte
	events []byte // records of the chunk being filled
	first  uint64
	last   store.Head
	done   []chunk
}

// add adds an event with the head behind it.
func (c *chunker) add(event store.Event, head store.Head) {
	if len(c.events) > 0 && len(c.events)+len(event.Payload) > chunkTarget {
		c.flush()
	}
	if len(c.events) == 0 {
		c.first = event.Seq
	}
	var buf [64]byte
	form := store.AppendPartHead(buf[:0], &store.Part{Event: event})
	if len(event.Payload) > chunkTarget {
		c.events = slices.Grow(c.events, len(event.Payload)+2*len(buf)) // at once
	}
	c.events = binary.AppendUvarint(c.events, uint64(len(form)+len(event.Payload)))
	c.events = append(c.events, form...)
	c.events = append(c.events, event.Payload...)
	c.last = head
}

// take adds events to a projection and to the chunks.
func (c *chunker) take(projection *projection, events []store.Event) error {
	for _, e := range events {
		if err := projection.take(c.id, e); err != nil {
			return err
		}
		c.add(e, projection.session.Head)
	}
	c.flush()
	return nil
}

// seal completes a chunk.
func (c *chunker) seal(key key, data []byte, compression byte) {
	data[4] = chunkVersion
	data[5] = store.CodecVersion
	data[6] = compression
	binary.LittleEndian.PutUint32(data, chunkSum(key, data))
	c.done = append(c.done, chunk{key: key, data: data})
}

// flush ends the chunk being filled.
func (c *chunker) flush() {
	if len(c.events) == 0 {
		return
	}
	k := chunkKey(c.id, c.first)
	room := len(c.events) / 3
	if len(c.events) > 2*chunkTarget { // images and files hardly compress
		room = len(c.events) + len(c.events)>>10
	}
	b := make([]byte, chunkHead, chunkHead+2*binary.MaxVarintLen64+room)
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

func chunkSum(key key, data []byte) uint32 {
	return crc32.Update(crc32.Checksum(key[:], castagnoli), castagnoli, data[4:])
}

// chunkHeader is the header of a chunk.
type chunkHeader struct {
	first, last uint64
	size        int // before compression
	compression byte
	body        []byte
}

// header checks a chunk without decompressing it.
func (c chunk) header() (f chunkHeader, err error) {
	b := c.data
	switch {
	case len(b) < chunkHead:
		return f, fmt.Errorf("no chunk header: %w", store.ErrCorrupt)
	case chunkSum(c.key, b) != binary.LittleEndian.Uint32(b):
		return f, fmt.Errorf("checksum of a chunk: %w", store.ErrCorrupt)
	case b[4] > chunkVersion || b[5] > store.CodecVersion || b[6] > compressDict:
		return f, fmt.Errorf("chunk version %d, codec version %d, compression %d: %w; install a newer mcprec", b[4], b[5], b[6], store.ErrNewer)
	}
	d := varint.NewReader(b[chunkHead:])
	n := d.Uint()
	size := d.Uint()
	f.first, f.last = binary.BigEndian.Uint64(c.key[16:]), binary.BigEndian.Uint64(c.key[16:])+n-1
	f.size, f.compression, f.body = int(size), b[6], d.Rest()
	// A block of zstd has a head of three bytes and expands to 128 KiB at most.
	most := (uint64(len(f.body))/4 + 1) * (128 << 10)
	if d.Bad() || f.last < f.first || size > maxChunk || size > most || n > 1 && size > maxShared {
		return f, fmt.Errorf("range of a chunk: %w", store.ErrCorrupt)
	}
	return f, nil
}

// events decodes a chunk. The events own their payloads. An error ends the sequence.
func (c chunk) events() iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		if err := c.decode(yield); err != nil {
			yield(store.Event{}, err)
		}
	}
}

func (c chunk) decode(yield func(store.Event, error) bool) error {
	f, err := c.header()
	if err != nil {
		return err
	}
	records := f.body
	if f.compression != compressNone {
		// The decoder respects the capacity, and is faster with some to spare.
		records, err = decoder().DecodeAll(records, make([]byte, 0, f.size+64))
		if err != nil {
			return fmt.Errorf("chunk: %v: %w", err, store.ErrCorrupt)
		}
	}
	if len(records) != f.size {
		return fmt.Errorf("length of a chunk: %w", store.ErrCorrupt)
	}
	for seq := f.first; seq <= f.last; seq++ {
		n, w := binary.Uvarint(records)
		if w <= 0 || n > uint64(len(records)-w) {
			return fmt.Errorf("event %d: its length: %w", seq, store.ErrCorrupt)
		}
		p, err := store.DecodePart(records[w : w+int(n) : w+int(n)])
		if err != nil {
			return err
		}
		if p.Seq != seq || p.Cont || p.More {
			return fmt.Errorf("event %d: found event %d: %w", seq, p.Seq, store.ErrCorrupt)
		}
		if !yield(p.Event, nil) {
			return nil
		}
		records = records[w+int(n):]
	}
	if len(records) != 0 {
		return fmt.Errorf("event %d: bytes after it: %w", f.last, store.ErrCorrupt)
	}
	return nil
}
