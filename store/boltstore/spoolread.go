package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

const (
	spoolMagic   = "mcprecsp"
	spoolVersion = 1
	spoolHead    = 32
	recordHead   = 8
	maxRecord    = 1 << 30 // no record is longer
	maxPartHead  = 40      // of the kinds that mcprec writes
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendSpoolHead appends the first bytes of a spool.
func appendSpoolHead(data []byte, key [16]byte) []byte {
	from := len(data)
	data = append(data, spoolMagic...)
	data = append(data, spoolVersion, store.CodecVersion, 0, 0)
	data = append(data, key[:]...)
	return binary.LittleEndian.AppendUint32(data, crc32.Checksum(data[from:], castagnoli))
}

// checkSpoolHead checks the first bytes of the spool at path.
func checkSpoolHead(b []byte, key [16]byte, path string) error {
	if len(b) < spoolHead || string(b[:8]) != spoolMagic {
		return fmt.Errorf("read spool %s: no spool header: %w", path, store.ErrCorrupt)
	}
	if b[8] > spoolVersion || b[9] > store.CodecVersion {
		return fmt.Errorf("read spool %s: spool version %d, codec version %d: %w; install a newer mcprec", path, b[8], b[9], store.ErrNewer)
	}
	if id := [16]byte(b[12:28]); binary.LittleEndian.Uint32(b[28:]) == crc32.Checksum(b[:28], castagnoli) && id != key {
		return fmt.Errorf("spool %s is left alone: it is that of session %s, under another name; is it a copy? move it away, or give it its name back", path, sessionID(id))
	}
	if binary.LittleEndian.Uint32(b[28:]) != crc32.Checksum(b[:28], castagnoli) {
		return fmt.Errorf("read spool %s: header: %w", path, store.ErrCorrupt)
	}
	return nil
}

// appendRecord appends a part as a record.
func appendRecord(data []byte, part *store.Part) []byte {
	at := len(data)
	data = slices.Grow(data, recordHead+maxPartHead+len(part.Payload))
	data = append(store.AppendPartHead(data[:at+recordHead], part), part.Payload...)
	body := data[at+recordHead:]
	binary.LittleEndian.PutUint32(data[at:], uint32(len(body)))
	binary.LittleEndian.PutUint32(data[at+4:], crc32.Checksum(body, castagnoli))
	return data
}

// recordInPlace returns the record of a chunk. It puts the record's head into the room in
// front of the payload.
func recordInPlace(part *store.Part) []byte {
	var room [store.ChunkRoom]byte
	head := store.AppendPartHead(room[:recordHead], part)
	at := store.ChunkRoom - len(head)
	copy(part.Buffer[at+recordHead:], head[recordHead:])
	b := part.Buffer[at:]
	body := b[recordHead:]
	binary.LittleEndian.PutUint32(b, uint32(len(body)))
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(body, castagnoli))
	return b
}

// recordLen returns the length of the record at the beginning of data, with its head; 0: no
// record begins there.
func recordLen(data []byte) int {
	n := binary.LittleEndian.Uint32(data)
	if n < 2 || n > maxRecord {
		return 0
	}
	return int(n) + recordHead
}

// intact reports whether the checksum of a record fits.
func intact(data []byte) bool {
	return crc32.Checksum(data[recordHead:], castagnoli) == binary.LittleEndian.Uint32(data[4:])
}

const (
	readBlock    = 256 << 10
	smallEvent   = 4 << 20                // a larger open event is folded after the recorder has gone
	spoolDamaged = "the spool is damaged" // first words of the reason of a lost event
)

// mark is a place in a spool where a reader can start.
type mark struct {
	store.Mark
	sealed bool
}

var spoolStart = mark{Mark: store.Mark{Off: spoolHead, Seq: 1, Part: 1}}

// spoolReader reads the events of a spool, live or dead.
type spoolReader struct {
	file fileReader
	path string
	off  int64 // offset of the next record

	buf    []byte // holds the file's bytes from bufOff
	bufOff int64
	reuse  bool  // the caller needs an event only until the next call
	most   int64 // an open event or line of more bytes is the end; 0: none is

	assemble *store.Assembler
	next     uint64 // Seq of the next event to come out
	sealed   bool

	ended  bool  // end was called
	damage error // set by end
}

func newSpoolReader(f fileReader, m mark) *spoolReader {
	return &spoolReader{file: f, path: f.Name(), off: m.Off, assemble: store.NewAssembler(m.Mark), next: m.Seq, sealed: m.sealed}
}

// read returns the next complete event. ok is false at the end; a later call may find more.
func (r *spoolReader) read() (event store.Event, ok bool, err error) {
	for {
		if e, ok := r.assemble.Next(); ok {
			r.next = e.Seq + 1
			r.sealed = e.Kind == store.Closed
			return e, true, nil
		}
		if r.ended || r.isBeforeLarge() {
			return event, false, nil
		}
		body, err := r.record()
		if body == nil || err != nil {
			return event, false, err
		}
		p, err := store.DecodePart(body)
		if err == nil {
			err = r.assemble.Add(p, r.off)
		}
		if err != nil {
			return event, false, fmt.Errorf("read spool %s: at byte %d: %w", r.path, r.off, err)
		}
		r.off += int64(len(body)) + recordHead
	}
}

// isBeforeLarge reports whether the next event is larger than the reader may take.
func (r *spoolReader) isBeforeLarge() bool { return r.most > 0 && int64(r.assemble.Held()) > r.most }

// record returns the body of the record at off; nil if no complete and intact record is there.
func (r *spoolReader) record() ([]byte, error) {
	for fresh := false; ; fresh = true {
		b, err := r.peek(recordHead, fresh)
		if b == nil || err != nil {
			return nil, err
		}
		if n := recordLen(b); n > 0 {
			if b, err = r.peek(n, false); err != nil || b == nil {
				return nil, err
			}
			if intact(b) {
				return b[recordHead:n:n], nil
			}
		}
		if fresh {
			return nil, nil
		}
		// The buffer may be older than the recorder's last write.
	}
}

// peek returns the n bytes at off; nil if the file has fewer.
func (r *spoolReader) peek(n int, fresh bool) ([]byte, error) {
	if have := r.buf[min(r.off-r.bufOff, int64(len(r.buf))):]; len(have) >= n && !fresh {
		return have[:n:n], nil
	}
	info, err := r.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read spool %s: %w", r.path, err)
	}
	rest := info.Size() - r.off
	if rest < int64(n) {
		return nil, nil
	}
	size := int(min(rest, int64(max(n, readBlock))))
	if r.reuse && r.assemble.Settled() && cap(r.buf) >= size {
		r.buf = r.buf[:size]
	} else {
		r.buf = make([]byte, size)
	}
	r.bufOff = r.off
	got, err := r.file.ReadAt(r.buf, r.off)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read spool %s: %w", r.path, err)
	}
	r.buf = r.buf[:got]
	if got < n {
		return nil, nil // it was cut since
	}
	return r.buf[:n:n], nil
}

// checkLive returns an error if the next record of a live spool is damaged. Good records
// behind it tell damage from a record that is being written.
func (r *spoolReader) checkLive() error {
	info, err := r.file.Stat()
	if err != nil {
		return fmt.Errorf("read spool %s: %w", r.path, err)
	}
	rest := info.Size() - r.off
	if r.ended || rest <= recordHead {
		return nil
	}
	if events, err := r.goodAfter(); events == 0 || err != nil {
		return err
	}
	r.buf = nil
	r.bufOff = r.off
	if body, err := r.record(); body != nil || err != nil {
		return err // it was written since
	}
	return fmt.Errorf("read spool %s: a bad record at byte %d with good ones after it: %w", r.path, r.off, store.ErrCorrupt)
}

// mark returns the place where another reader can go on.
func (r *spoolReader) mark() mark { return mark{r.assemble.Mark(r.off), r.sealed} }

// end tells the reader that the recorder is dead. Open events come out unterminated, and a
// torn tail is skipped. If good records follow a bad one, a lost event comes out and damage is
// set.
func (r *spoolReader) end() error {
	r.ended = true
	headless := r.next == 1 && r.assemble.Settled()
	r.assemble.Cut()
	info, err := r.file.Stat()
	if err != nil {
		return fmt.Errorf("read spool %s: %w", r.path, err)
	}
	rest := info.Size() - r.off
	if rest == 0 {
		return nil
	}
	frames, err := r.goodAfter()
	if err != nil || frames == 0 {
		return err
	}
	r.damage = fmt.Errorf("spool %s: a bad record at byte %d with good ones after it, %d bytes in all: %w", r.path, r.off, rest, store.ErrCorrupt)
	if headless {
		return r.damage // a log needs its first event
	}
	if r.sealed {
		return nil
	}
	reason := fmt.Sprintf(spoolDamaged+" at byte %d; what follows is kept in a file of its own", r.off)
	lost := store.LostInfo{Frames: frames + 1, Bytes: uint64(rest), Reason: reason, Streams: store.AllPipes()}
	r.assemble.Append(store.Event{Kind: store.Lost, Payload: store.EncodePayload(lost)})
	return nil
}

// goodAfter looks for good records behind the bad record at off, and returns the number of
// events that begin in them.
func (r *spoolReader) goodAfter() (events uint64, err error) {
	behind, err := newRecordScan(r.file, r.off+1)
	if err != nil {
		return 0, err
	}
	for {
		p, _, ok, err := behind.next()
		if !ok || err != nil {
			return events, err
		}
		if p.Chunk {
			events += uint64(bytes.Count(p.Payload, []byte{'\n'}))
		} else if !p.Cont {
			events++
		}
	}
}

// recordScan finds the good records of a spool, also behind bad ones.
type recordScan struct {
	file   fileReader
	size   int64
	off    int64
	buf    []byte // the file's bytes from bufOff
	bufOff int64
	work   int64 // how many bytes may still be checked in vain
}

const scanBlock = 4 << 20

func newRecordScan(reader fileReader, off int64) (*recordScan, error) {
	info, err := reader.Stat()
	if err != nil {
		return nil, fmt.Errorf("read spool %s: %w", reader.Name(), err)
	}
	return &recordScan{file: reader, size: info.Size(), off: off, work: 1<<30 + 16*info.Size()}, nil
}

// next returns the part in the next good record. skipped is the number of bytes before it that
// belong to no record. ok is false at the end of the file.
func (r *recordScan) next() (part store.Part, skipped int64, ok bool, err error) {
	for from := r.off; r.size-r.off > recordHead; r.off++ {
		b, err := r.peek(recordHead + maxPartHead)
		if err != nil {
			return part, 0, false, err
		}
		n := int64(recordLen(b))
		if n == 0 || n > r.size-r.off || r.work < 0 {
			continue
		}
		part, err = store.DecodePart(b[recordHead:min(n, int64(len(b)))])
		if err != nil || part.Seq == 0 && !part.Chunk {
			continue
		}
		if b, err = r.peek(n); err != nil {
			return part, 0, false, err
		}
		if !intact(b[:n]) {
			r.work -= n
			continue
		}
		part, _ = store.DecodePart(b[recordHead:n:n])
		r.off += n
		return part, r.off - n - from, true, nil
	}
	return part, r.size - r.off, false, nil
}

// peek returns n bytes at off, or fewer at the end of the file.
func (r *recordScan) peek(n int64) ([]byte, error) {
	n = min(n, r.size-r.off)
	if have := r.buf[min(r.off-r.bufOff, int64(len(r.buf))):]; int64(len(have)) >= n {
		return have, nil
	}
	r.buf = make([]byte, min(max(n, scanBlock), r.size-r.off))
	r.bufOff = r.off
	if _, err := r.file.ReadAt(r.buf, r.off); err != nil && err != io.EOF {
		return nil, fmt.Errorf("read spool %s: %w", r.file.Name(), err)
	}
	return r.buf, nil
}

// scanSpool returns the complete events of a spool and the highest Seq in it.
func scanSpool(reader fileReader) (found map[uint64]store.Event, last uint64, err error) {
	r, err := newRecordScan(reader, spoolHead)
	if err != nil {
		return nil, 0, err
	}
	found, open := map[uint64]store.Event{}, map[uint64]store.Event{}
	for {
		p, skipped, ok, err := r.next()
		if err != nil {
			return found, last, err
		}
		if skipped > 0 && ok {
			clear(open) // each of them may lack a part
		}
		if !ok {
			break
		}
		if p.Chunk {
			return scanPipes(reader)
		}
		last = max(last, p.Seq)
		e, begun := open[p.Seq]
		delete(open, p.Seq)
		switch {
		case !p.Cont:
			e = p.Event
			e.Payload = append([]byte(nil), p.Payload...)
		case !begun:
			continue // its beginning is missing
		default:
			e.Payload = append(e.Payload, p.Payload...)
			e.Unterminated = p.Unterminated
		}
		if p.More {
			open[p.Seq] = e
		} else {
			found[p.Seq] = e
		}
	}
	for seq, e := range open { // their recorder died
		e.Unterminated = true
		found[seq] = e
	}
	return found, last, nil
}

// scanPipes is scanSpool for a spool with chunks. The number of events in missing bytes is
// unknown: one lost event stands for them, and later events follow it.
func scanPipes(reader fileReader) (found map[uint64]store.Event, last uint64, err error) {
	r, err := newRecordScan(reader, spoolHead)
	if err != nil {
		return nil, 0, err
	}
	found = map[uint64]store.Event{}
	type pipe struct {
		store.Kind
		transport.Direction
	}
	a := store.NewAssembler(spoolStart.Mark)
	joined := map[pipe]bool{}
	take := func() {
		for e, ok := a.Next(); ok; e, ok = a.Next() {
			e.Payload = bytes.Clone(e.Payload)
			found[e.Seq] = e
			last = e.Seq
		}
	}
	for gaps := 0; ; {
		p, skipped, ok, err := r.next()
		if err != nil {
			return found, last, err
		}
		if !ok {
			break
		}
		if skipped > 0 {
			gaps++
			clear(joined)
			a.Gap(store.LostInfo{Frames: 1, Bytes: uint64(skipped), Reason: "the spool is damaged here"})
		}
		if of := (pipe{p.Kind, p.Dir}); p.Chunk && gaps > 0 && !joined[of] {
			joined[of] = true
			p.Cont = !bytes.HasPrefix(p.Payload, []byte("{")) && !bytes.HasPrefix(p.Payload, []byte("["))
		}
		if a.Add(p, 0) == nil { // not a continuation of a missing part
			take()
		}
	}
	a.Cut()
	take()
	return found, last, nil
}
