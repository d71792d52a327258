package store

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/mcprec/mcprec/store/varint"
	"github.com/mcprec/mcprec/transport"
)

// CodecVersion is the version of the binary form below. Containers (a spool, a
// chunk) state it once, in front of the parts they hold.
const CodecVersion = 1

// The binary form of a part, version 1. The integers are unsigned varints.
//
//	flags    1 byte: bits 0-1 Dir (3: a chunk, below), 2 Unterminated, 3 Cont, 4 More, 5 Stream present,
//	         6 Redacted present, 7 Cut present
//	kind     1 byte: index into kinds; 0: a length and the name follow   (not if Cont)
//	seq      varint
//	at       varint, nanoseconds                                         (not if Cont)
//	stream   varint                                                      (if bit 5)
//	redacted varint, of this part                                        (if bit 6)
//	cut      varint, of this part                                        (if bit 7)
//	payload  the rest
//
// There is no length: the container knows the length.
//
// A chunk has 3 in the place of Dir, and then
//
//	flags    bits 2-3 the pipe (0 c2s, 1 s2c, 2 standard error), 4 Cont, 5-7 zero
//	at       varint, nanoseconds
//	payload  the rest
const (
	flagUnterminated = 1 << 2
	flagCont         = 1 << 3
	flagMore         = 1 << 4
	flagStream       = 1 << 5
	flagRedacted     = 1 << 6
	flagCut          = 1 << 7
	flagsChunk       = 3 // in the place of Dir
	chunkPipe        = 2 // where the number of the pipe begins
	chunkCont        = 1 << 4
)

// kinds is append-only: an index, once released, keeps its meaning. A reader refuses an
// unknown index, and keeps an unknown name: newer kinds, such as Stalled, have no index.
var kinds = [...]Kind{"", Opened, Frame, Delivered, Stderr, HTTP, EOF, Exited, Lost, Note, Closed}

// kindIndex returns the index of a kind, or 0.
func kindIndex(kind Kind) byte {
	if kind == Frame {
		return 2
	}
	return byte(max(0, slices.Index(kinds[:], kind)))
}

// AppendPart appends the binary form of part to data. At must not be negative.
func AppendPart(data []byte, part Part) []byte {
	data = AppendPartHead(data, &part)
	return append(data, part.Payload...)
}

// AppendPartHead appends the binary form of part without its payload, for writers that checksum
// or write the payload in place. AppendPartHead is on the path of every frame: hence the pointer, and the
// numbers written in place.
func AppendPartHead(data []byte, part *Part) []byte {
	if part.Chunk {
		n, _ := pipeOf(part.Kind, part.Dir)
		flags := byte(flagsChunk | n<<chunkPipe)
		if part.Cont {
			flags |= chunkCont
		}
		return binary.AppendUvarint(append(data, flags), uint64(part.At))
	}
	flags := byte(part.Dir) & 3
	if part.Unterminated {
		flags |= flagUnterminated
	}
	if part.More {
		flags |= flagMore
	}
	if part.Stream != 0 {
		flags |= flagStream
	}
	if part.Redacted != 0 {
		flags |= flagRedacted
	}
	if part.Cut != 0 {
		flags |= flagCut
	}
	if part.Cont {
		data = append(data, flags|flagCont)
	} else if i := kindIndex(part.Kind); i != 0 {
		data = append(data, flags, i)
	} else {
		data = binary.AppendUvarint(append(data, flags, 0), uint64(len(part.Kind)))
		data = append(data, part.Kind...)
	}
	data = slices.Grow(data, maxNumbers)
	h := (*[maxNumbers]byte)(data[len(data) : len(data)+maxNumbers])
	n := putUvarint(h, 0, part.Seq)
	if !part.Cont {
		n = putUvarint(h, n, uint64(part.At))
	}
	if part.Stream != 0 {
		n = putUvarint(h, n, part.Stream)
	}
	if part.Redacted != 0 {
		n = putUvarint(h, n, part.Redacted)
	}
	if part.Cut != 0 {
		n = putUvarint(h, n, part.Cut)
	}
	return data[:len(data)+n]
}

const maxNumbers = 5*binary.MaxVarintLen64 + 2

func putUvarint(h *[maxNumbers]byte, n int, v uint64) int {
	for ; v >= 0x80; v >>= 7 {
		h[n&63] = byte(v) | 0x80
		n++
	}
	h[n&63] = byte(v)
	return n + 1
}

// DecodePart reads the binary form. The part's payload aliases data.
func DecodePart(data []byte) (Part, error) {
	d := varint.NewReader(data)
	var p Part
	flags := d.Byte()
	if flags&3 == flagsChunk {
		return decodeChunk(&d, flags)
	}
	p.Dir = transport.Direction(flags & 3)
	p.Unterminated = flags&flagUnterminated != 0
	p.Cont = flags&flagCont != 0
	p.More = flags&flagMore != 0
	if !p.Cont {
		switch i := int(d.Byte()); {
		case i == 0:
			p.Kind = Kind(d.Text())
		case i < len(kinds):
			p.Kind = kinds[i]
		default:
			return Part{}, fmt.Errorf("decode event: kind %d: %w", i, ErrCorrupt)
		}
	}
	p.Seq = d.Uint()
	if !p.Cont {
		p.At = time.Duration(d.Uint())
	}
	if flags&flagStream != 0 {
		p.Stream = d.Uint()
	}
	if flags&flagRedacted != 0 {
		p.Redacted = d.Uint()
	}
	if flags&flagCut != 0 {
		p.Cut = d.Uint()
	}
	if d.Bad() || p.At < 0 {
		return Part{}, fmt.Errorf("decode event: %w", ErrCorrupt)
	}
	p.Payload = d.Rest()
	return p, nil
}

func decodeChunk(reader *varint.Reader, flags byte) (part Part, err error) {
	n := int(flags >> chunkPipe & 3)
	if n >= pipes || flags>>5 != 0 {
		return part, fmt.Errorf("decode chunk: flags %#x: %w", flags, ErrNewer)
	}
	part.Chunk = true
	part.Cont = flags&chunkCont != 0
	part.Kind, part.Dir = ofPipe(n)
	part.At = time.Duration(reader.Uint())
	if reader.Bad() || part.At < 0 {
		return Part{}, fmt.Errorf("decode chunk: %w", ErrCorrupt)
	}
	part.Payload = reader.Rest()
	return part, nil
}

// NextChain returns the chain value after event: SHA-256 over the previous
// value and the event's binary form. The chain of an empty log is zero. Chains show
// whether two logs are the same, and where a changed log begins to differ.
func NextChain(prev [32]byte, event Event) [32]byte {
	h := sha256.New()
	h.Write(prev[:])
	h.Write(AppendPartHead(make([]byte, 0, 64), &Part{Event: event}))
	h.Write(event.Payload)
	return [32]byte(h.Sum(nil))
}
