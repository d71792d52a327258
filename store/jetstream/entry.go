package jetstream

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/varint"
)

// entry is what the stream of entries keeps of a session.
type entry struct {
	seq  uint64    // of the entry's message in its stream; 0: no entry. Not encoded.
	time time.Time // of the message, by the server. Not encoded.

	session store.Session // the head and the counts, as far as the writer knew; the header if it is known
	opened  bool          // the header is known
	settled bool          // nobody writes: the head is final
	deleted bool          // a tombstone
	held    bool          // a claim holds the session
	writer  string        // token of the claim or the append that wrote the entry
	lease   time.Duration // the claim ends so long after time
	clock   time.Time     // the holder's, when it wrote the entry; zero: not known
}

// The binary form of an entry, version 1:
//
//	0  CRC-32C of the session id and what follows
//	4  version
//	5  flags: 0 opened, 1 settled, 2 deleted, 3 held, 4 sealed, 5 the header is too long to be here
//	6  the chain (32 bytes)
//	   varints: Seq, At, Frames, Bytes, Lost, Doubtful, lease, start (signed seconds, nanoseconds)
//	   texts: writer, exit, the header as JSON
//	   varints: the holder's clock (signed seconds, nanoseconds); older entries end before it
const (
	entryVersion = 1
	entryHead    = 38
	maxHeader    = 64 << 10 // a longer header is read from the first event

	flagOpened  = 1 << 0
	flagSettled = 1 << 1
	flagDeleted = 1 << 2
	flagHeld    = 1 << 3
	flagSealed  = 1 << 4
	flagLong    = 1 << 5
)

// encode returns the binary form.
func (e *entry) encode(id store.SessionID) []byte {
	x := &e.session
	var header []byte
	flags := byte(0)
	if e.opened {
		flags |= flagOpened
		if header = x.Header.Encode(); len(header) > maxHeader {
			header = nil
			flags |= flagLong
		}
	}
	for flag, set := range map[byte]bool{flagSettled: e.settled, flagDeleted: e.deleted, flagHeld: e.held, flagSealed: x.Head.Sealed} {
		if set {
			flags |= flag
		}
	}
	data := make([]byte, 6, 160+len(header))
	data[4] = entryVersion
	data[5] = flags
	data = append(data, x.Head.Chain[:]...)
	data = varint.Append(data, x.Head.Seq, uint64(x.Head.At), x.Frames, x.Bytes, x.Lost, x.Doubtful, uint64(e.lease))
	data = binary.AppendVarint(data, x.Start.Unix())
	data = varint.Append(data, uint64(x.Start.Nanosecond()))
	data = varint.AppendText(data, e.writer, x.Exit, string(header))
	if e.held {
		data = binary.AppendVarint(data, e.clock.Unix())
		data = varint.Append(data, uint64(e.clock.Nanosecond()))
	}
	binary.LittleEndian.PutUint32(data, entrySum(id, data))
	return data
}

func entrySum(id store.SessionID, data []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(id), castagnoli), castagnoli, data[4:])
}

// decodeEntry reads an entry, but of the header only the start: the rest takes the most time, and a
// short listing needs few. The header's text aliases data; parse it with parseHeader of entry.
func decodeEntry(id store.SessionID, data []byte) (e entry, header []byte, err error) {
	if len(data) < entryHead || binary.LittleEndian.Uint32(data) != entrySum(id, data) {
		return e, nil, fmt.Errorf("checksum of the entry of session %s: %w", id, store.ErrCorrupt)
	}
	if data[4] > entryVersion {
		return e, nil, fmt.Errorf("entry of session %s: version %d: %w; install a newer mcprec", id, data[4], store.ErrNewer)
	}
	flags := data[5]
	x := &e.session
	x.ID = id
	x.Head.Chain = [32]byte(data[6:])
	reader := varint.NewReader(data[entryHead:])
	x.Head.Seq, x.Head.At = reader.Uint(), time.Duration(reader.Uint())
	x.Frames, x.Bytes, x.Lost, x.Doubtful = reader.Uint(), reader.Uint(), reader.Uint(), reader.Uint()
	e.lease = time.Duration(reader.Uint())
	seconds := reader.Int()
	nanoseconds := reader.Uint()
	e.writer = reader.Text()
	x.Exit = reader.Text()
	header = reader.Take(reader.Uint())
	if reader.Len() > 0 {
		e.clock = time.Unix(reader.Int(), int64(reader.Uint())).UTC()
	}
	if reader.Bad() || x.Head.At < 0 || e.lease < 0 || nanoseconds >= 1e9 {
		return entry{}, nil, fmt.Errorf("fields of the entry of session %s: %w", id, store.ErrCorrupt)
	}
	x.Start = time.Unix(seconds, int64(nanoseconds)).UTC()
	x.Head.Sealed = flags&flagSealed != 0
	e.opened = flags&flagOpened != 0 && flags&flagLong == 0
	e.settled = flags&flagSettled != 0
	e.deleted = flags&flagDeleted != 0
	e.held = flags&flagHeld != 0
	return e, header, nil
}

// takeHeader reads the header's text into the entry.
func (e *entry) takeHeader(text []byte) error {
	if !e.opened {
		return nil
	}
	header, err := store.ParseHeader(text)
	if err != nil {
		return fmt.Errorf("entry of session %s: %w", e.session.ID, err)
	}
	header.ID = e.session.ID
	e.session.Header = header
	return nil
}

// clockNoise is how much the holder's clock in an entry may differ from the entry's time without being wrong:
// writing an entry can take as long as an election.
const clockNoise = resendFor + publishTime

// skew returns how far the clock of an entry's holder is ahead of this machine's. At one moment the servers'
// clock showed now, and this machine's showed here. 0 stands for less than clockNoise, or for not known.
func (e *entry) skew(now, here time.Time) time.Duration {
	if e.clock.IsZero() {
		return 0
	}
	skew := e.clock.Sub(e.time) - here.Sub(now)
	if skew.Abs() <= clockNoise {
		return 0
	}
	return skew
}
