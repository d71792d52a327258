// Package chunk is the stored form of a run of consecutive events of one session, for stores that
// keep runs as values: one message, one object.
//
// A chunk is compressed by zstd, small ones against a dictionary. Decode returns exactly the events
// that were encoded, or an error: store.ErrCorrupt for changed bytes, for the chunk of another session
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

const (
	headSize  = 7         // of the fixed part
	dictSize  = 32 << 10  // the dictionary helps smaller chunks
	maxChunk  = 2 << 30   // no chunk is longer
	maxShared = 64 << 20  // no chunk of several events is longer
	maxBlock  = 128 << 10 // of zstd, decompressed; its head has three bytes
)

// How the records are compressed.
const (
	compressNone = 0
	compressZstd = 1
	compressDict = 2
)

// The encoders are small and fast, for use inside a recorder: one block at a time, and a window hardly
// smaller than a usual chunk. The next level makes text at most 8 % shorter, and takes up to twice the
// time; with the dictionary it takes five times as long, because it resets a table of a megabyte for
// each chunk.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		// Entropy coding makes an image in base64 a quarter shorter.
		return newEncoder(zstd.WithWindowSize(512<<10), zstd.WithAllLitEntropyCompression(true))
	})
	dictEncoder = sync.OnceValue(func() *zstd.Encoder {
		return newEncoder(zstd.WithWindowSize(2*dictSize), zstd.WithEncoderDictRaw(1, []byte(Dictionary)))
	})
)

func newEncoder(options ...zstd.EOption) *zstd.Encoder {
	options = append(options, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	encoder, err := zstd.NewWriter(nil, options...)
	if err != nil {
		panic("chunk: unreachable: the options are valid: " + err.Error())
	}
	return encoder
}

var decoder = sync.OnceValue(func() *zstd.Decoder {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxChunk),
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

// Encode returns the chunk of a run of consecutive events. There must be at least one.
func Encode(session [16]byte, events []store.Event) []byte {
	size := 0
	for i := range events {
		size += recordSize(&events[i])
	}
	records := make([]byte, 0, size+64)
	var form [64]byte
	for i := range events {
		head := store.AppendPartHead(form[:0], &store.Part{Event: events[i]})
		records = binary.AppendUvarint(records, uint64(len(head)+len(events[i].Payload)))
		records = append(records, head...)
		records = append(records, events[i].Payload...)
	}
	room := len(records)/3 + 256
	if len(records) > 1<<20 { // images and files hardly compress
		room = len(records) + len(records)>>10
	}
	data := make([]byte, headSize, headSize+2*binary.MaxVarintLen64+room)
	data[4] = Version
	data[5] = store.CodecVersion
	data = varint.Append(data, uint64(len(events)), uint64(len(records)))
	head := len(data)
	if len(records) < dictSize {
		data[6] = compressDict
		data = dictEncoder().EncodeAll(records, data)
	} else {
		data[6] = compressZstd
		data = encoder().EncodeAll(records, data)
	}
	if len(data)-head >= len(records) {
		data[6] = compressNone
		data = append(data[:head], records...)
	}
	binary.LittleEndian.PutUint32(data, checksum(session, events[0].Seq, data))
	return data
}

func checksum(session [16]byte, first uint64, data []byte) uint32 {
	var key [24]byte
	copy(key[:], session[:])
	binary.BigEndian.PutUint64(key[16:], first)
	return crc32.Update(crc32.Checksum(key[:], castagnoli), castagnoli, data[4:])
}

// Decode returns the events of the chunk of a session that begins with event `first`. The payloads
// belong to the caller and share no memory with data.
func Decode(session [16]byte, first uint64, data []byte) ([]store.Event, error) {
	switch {
	case len(data) < headSize:
		return nil, fmt.Errorf("no chunk header: %w", store.ErrCorrupt)
	case checksum(session, first, data) != binary.LittleEndian.Uint32(data):
		return nil, fmt.Errorf("checksum of a chunk: %w", store.ErrCorrupt)
	case data[4] > Version || data[5] > store.CodecVersion || data[6] > compressDict:
		return nil, fmt.Errorf("chunk version %d, codec version %d, compression %d: %w; install a newer mcprec", data[4], data[5], data[6], store.ErrNewer)
	}
	reader := varint.NewReader(data[headSize:])
	count := reader.Uint()
	size := reader.Uint()
	body := reader.Rest()
	most := (uint64(len(body))/4 + 1) * maxBlock
	if reader.Bad() || count == 0 || first+count < first || size > maxChunk || size > most || count > 1 && size > maxShared || count > size {
		return nil, fmt.Errorf("range of a chunk: %w", store.ErrCorrupt)
	}
	records := slices.Clone(body)
	if data[6] != compressNone {
		var err error
		// The decoder respects the capacity, and is faster with some to spare.
		records, err = decoder().DecodeAll(body, make([]byte, 0, size+64))
		if err != nil {
			return nil, fmt.Errorf("chunk: %v: %w", err, store.ErrCorrupt)
		}
	}
	if uint64(len(records)) != size {
		return nil, fmt.Errorf("length of a chunk: %w", store.ErrCorrupt)
	}
	return decodeRecords(records, first, count)
}

// decodeRecords returns the events of the decompressed records. They share the memory of records,
// each up to its end.
func decodeRecords(records []byte, first, count uint64) ([]store.Event, error) {
	events := make([]store.Event, 0, min(count, uint64(len(records))/3+1))
	for seq := first; seq < first+count; seq++ {
		length, width := binary.Uvarint(records)
		if width <= 0 || length > uint64(len(records)-width) {
			return nil, fmt.Errorf("event %d: its length: %w", seq, store.ErrCorrupt)
		}
		end := width + int(length)
		part, err := store.DecodePart(records[width:end:end])
		switch {
		case err != nil:
			return nil, fmt.Errorf("event %d: %w", seq, err)
		case part.Seq != seq || part.Cont || part.More || part.Chunk:
			return nil, fmt.Errorf("event %d: found another: %w", seq, store.ErrCorrupt)
		}
		events = append(events, part.Event)
		records = records[end:]
	}
	if len(records) != 0 {
		return nil, fmt.Errorf("event %d: bytes after it: %w", first+count-1, store.ErrCorrupt)
	}
	return events, nil
}
