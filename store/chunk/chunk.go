// Package chunk is the stored form of a run of consecutive events of one session, for stores that
// keep runs as values: an element of a database, a message.
//
// A chunk is compressed by zstd, small ones against a dictionary. [Events] yields exactly the events
// that were added, or an error: store.ErrCorrupt for changed bytes, for the chunk of another session
// and for one that begins at another event; store.ErrNewer for a newer version.
//
// # Data layout
//
//	0  CRC-32C of the session id (16 bytes), the first Seq (8 bytes, big endian), and what follows
//	4  version of this form
//	5  store.CodecVersion
//	6  compression: 0 none, 1 zstd, 2 zstd with Dictionary
//	7  varint number of events, varint size of the records, the compressed records
//
// A record is the varint length of an event's binary form and the form (store.AppendPart). The
// session and the first Seq are not in the chunk: the container knows them.
//
// The records have at most 64 MiB, or 64 times the bytes of their compressed form. Those that would compress
// better are stored as they are, so that a few bytes of somebody else do not fill the memory of a reader.
//
// # What it refuses to do
//
// It does not check the order of the events beyond their Seq, and knows nothing of sizes: the container
// cuts what is too large for it.
package chunk

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/varint"
)

// Version is the version of the form.
const Version = 1

// MaxSize bounds the bytes of a chunk, and those of its records before compression.
const MaxSize = 2 << 30

const (
	headSize  = 7         // of the fixed part
	dictSize  = 32 << 10  // the dictionary helps smaller chunks
	maxShared = 64 << 20  // the records of several events are not longer
	maxBlock  = 128 << 10 // of zstd, decompressed; its head has three bytes

	// Records beyond freely have at most maxRatio times the bytes of their compressed form. Text of protocols
	// compresses to a tenth.
	freely   = 64 << 20
	maxRatio = 64
)

// How the records are compressed.
const (
	compressNone = 0
	compressZstd = 1
	compressDict = 2
)

// The encoders are small, for use inside a recorder: one block at a time, and a window hardly smaller
// than a usual chunk. That for small chunks is at zstd's fastest level: the next one takes two to five
// times as long, because it resets a table of a megabyte for each chunk, and makes text at most 9 %
// shorter. Large chunks are worth the next level: they take up to twice as long, and text is 6 to 10 %
// shorter.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		// Entropy coding makes an image in base64 a quarter shorter.
		return newEncoder(zstd.WithWindowSize(512<<10), zstd.WithAllLitEntropyCompression(true))
	})
	dictEncoder = sync.OnceValue(func() *zstd.Encoder {
		return newEncoder(zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(2*dictSize), zstd.WithEncoderDictRaw(1, []byte(Dictionary)))
	})
)

func newEncoder(options ...zstd.EOption) *zstd.Encoder {
	options = append(options, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	encoder, err := zstd.NewWriter(nil, options...)
	if err != nil {
		panic("chunk: unreachable: the options are valid: " + err.Error())
	}
	return encoder
}

var decoder = sync.OnceValue(func() *zstd.Decoder {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(MaxSize),
		zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderDictRaw(1, []byte(Dictionary)))
	if err != nil {
		panic("chunk: unreachable: the options are valid: " + err.Error())
	}
	return decoder
})

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Split cuts events into runs whose records have at most about `size` bytes before compression. A
// larger event is a run of its own.
func Split(events []store.Event, size int) iter.Seq[[]store.Event] {
	return func(yield func([]store.Event) bool) {
		for len(events) > 0 {
			count, sum := 0, 0
			for count < len(events) && (count == 0 || sum+recordSize(&events[count]) <= size) {
				sum += recordSize(&events[count])
				count++
			}
			if !yield(events[:count]) {
				return
			}
			events = events[count:]
		}
	}
}

// recordSize returns about the length of an event's record.
func recordSize(event *store.Event) int { return len(event.Payload) + 24 }

// Builder makes chunks of consecutive events that are added one by one. The zero value is ready.
type Builder struct {
	records []byte
	first   uint64 // Seq
	count   uint64 // of events
}

// Add adds an event, which must follow the one before. It copies the payload.
func (b *Builder) Add(event *store.Event) {
	if b.count == 0 {
		b.first = event.Seq
	}
	b.count++
	var room [64]byte
	head := store.AppendPartHead(room[:0], &store.Part{Event: *event})
	b.records = slices.Grow(b.records, binary.MaxVarintLen64+len(head)+len(event.Payload))
	b.records = binary.AppendUvarint(b.records, uint64(len(head)+len(event.Payload)))
	b.records = append(b.records, head...)
	b.records = append(b.records, event.Payload...)
}

// Size returns the size of the records since the last chunk.
func (b *Builder) Size() int { return len(b.records) }

// Chunk returns the chunk of the events that were added since the last one. There must be at least one.
func (b *Builder) Chunk(session [16]byte) []byte {
	room := len(b.records)/3 + 256
	if len(b.records) > 1<<20 { // images and files hardly compress
		room = len(b.records) + len(b.records)>>10
	}
	data := make([]byte, headSize, headSize+2*binary.MaxVarintLen64+room)
	data[4] = Version
	data[5] = store.CodecVersion
	data = varint.Append(data, b.count, uint64(len(b.records)))
	head := len(data)
	if len(b.records) < dictSize {
		data[6] = compressDict
		data = dictEncoder().EncodeAll(b.records, data)
	} else {
		data[6] = compressZstd
		data = encoder().EncodeAll(b.records, data)
	}
	if compressed := len(data) - head; compressed >= len(b.records) || !mayExpand(uint64(compressed), uint64(len(b.records))) {
		data[6] = compressNone
		data = append(data[:head], b.records...)
	}
	binary.LittleEndian.PutUint32(data, checksum(session, b.first, data))
	b.records = b.records[:0]
	b.count = 0
	return data
}

// Encode returns the chunk of a run of consecutive events. There must be at least one.
func Encode(session [16]byte, events []store.Event) []byte {
	var b Builder
	size := 0
	for i := range events {
		size += recordSize(&events[i])
	}
	b.records = make([]byte, 0, size+64)
	for i := range events {
		b.Add(&events[i])
	}
	return b.Chunk(session)
}

// mayExpand reports whether compressed bytes may stand for records of a size.
func mayExpand(compressed, size uint64) bool {
	most := (compressed/4 + 1) * maxBlock // a block has a byte and its head at least
	return size <= min(most, max(freely, compressed*maxRatio))
}

func checksum(session [16]byte, first uint64, data []byte) uint32 {
	var key [24]byte
	copy(key[:], session[:])
	binary.BigEndian.PutUint64(key[16:], first)
	return crc32.Update(crc32.Checksum(key[:], castagnoli), castagnoli, data[4:])
}

// Header is what a chunk says of itself.
type Header struct {
	Last uint64 // Seq of the last event
	Size int    // of the records, before compression

	compression byte
	records     []byte // compressed
}

// ReadHeader returns the header of the chunk of a session that begins with event `first`. It checks the
// chunk, and does not decompress it.
func ReadHeader(session [16]byte, first uint64, data []byte) (h Header, err error) {
	switch {
	case len(data) < headSize:
		return h, fmt.Errorf("no chunk header: %w", store.ErrCorrupt)
	case checksum(session, first, data) != binary.LittleEndian.Uint32(data):
		return h, fmt.Errorf("checksum of a chunk: %w", store.ErrCorrupt)
	case data[4] > Version || data[5] > store.CodecVersion || data[6] > compressDict:
		return h, fmt.Errorf("chunk version %d, codec version %d, compression %d: %w; install a newer mcprec", data[4], data[5], data[6], store.ErrNewer)
	}
	reader := varint.NewReader(data[headSize:])
	count := reader.Uint()
	size := reader.Uint()
	h = Header{Last: first + count - 1, Size: int(size), compression: data[6], records: reader.Rest()}
	if reader.Bad() || count == 0 || first+count < first || size > MaxSize || !mayExpand(uint64(len(h.records)), size) || count > 1 && size > maxShared || count > size {
		return h, fmt.Errorf("range of a chunk: %w", store.ErrCorrupt)
	}
	return h, nil
}

// Events yields the events of the chunk of a session that begins with event `first`. An error ends the
// sequence. The payloads belong to the caller, and may be a part of data, which must not change.
func Events(session [16]byte, first uint64, data []byte) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		if err := decode(session, first, data, yield); err != nil {
			yield(store.Event{}, err)
		}
	}
}

// decode calls yield for the events of a chunk until it returns false. An event's payload has memory up
// to its end, and shares no byte with another.
func decode(session [16]byte, first uint64, data []byte, yield func(store.Event, error) bool) error {
	h, err := ReadHeader(session, first, data)
	if err != nil {
		return err
	}
	records := h.records
	if h.compression != compressNone {
		// The decoder respects the capacity, and is faster with some to spare.
		records, err = decoder().DecodeAll(h.records, make([]byte, 0, h.Size+64))
		if err != nil {
			return fmt.Errorf("chunk: %v: %w", err, store.ErrCorrupt)
		}
	}
	if len(records) != h.Size {
		return fmt.Errorf("length of a chunk: %w", store.ErrCorrupt)
	}
	for seq := first; seq <= h.Last; seq++ {
		length, width := binary.Uvarint(records)
		if width <= 0 || length > uint64(len(records)-width) {
			return fmt.Errorf("event %d: its length: %w", seq, store.ErrCorrupt)
		}
		end := width + int(length)
		part, err := store.DecodePart(records[width:end:end])
		switch {
		case err != nil:
			return fmt.Errorf("event %d: %w", seq, err)
		case part.Seq != seq || part.Cont || part.More || part.Chunk:
			return fmt.Errorf("event %d: found another: %w", seq, store.ErrCorrupt)
		}
		if !yield(part.Event, nil) {
			return nil
		}
		records = records[end:]
	}
	if len(records) != 0 {
		return fmt.Errorf("event %d: bytes after it: %w", h.Last, store.ErrCorrupt)
	}
	return nil
}

// Decode returns all events of [Events], or an error.
func Decode(session [16]byte, first uint64, data []byte) (events []store.Event, err error) {
	for event, err := range Events(session, first, data) {
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}
