package boltstore

import (
	"bytes"
	"fmt"
	"io"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// recordScan finds the good records of a spool, also behind bad ones.
type recordScan struct {
	f      fileReader
	size   int64
	off    int64
	buf    []byte // the file's bytes from bufOff
	bufOff int64
	work   int64 // how many bytes may still be checked in vain
}

const scanBlock = 4 << 20

func newRecordScan(f fileReader, off int64) (*recordScan, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read spool %s: %w", f.Name(), err)
	}
	return &recordScan{f: f, size: info.Size(), off: off, work: 1<<30 + 16*info.Size()}, nil
}

// next returns the part in the next good record. skipped is the number of bytes before it that
// belong to no record. ok is false at the end of the file.
func (r *recordScan) next() (p store.Part, skipped int64, ok bool, err error) {
	for from := r.off; r.size-r.off > recordHead; r.off++ {
		b, err := r.peek(recordHead + maxPartHead)
		if err != nil {
			return p, 0, false, err
		}
		n := int64(recordLen(b))
		if n == 0 || n > r.size-r.off || r.work < 0 {
			continue
		}
		if p, err = store.DecodePart(b[recordHead:min(n, int64(len(b)))]); err != nil || p.Seq == 0 && !p.Chunk {
			continue
		}
		if b, err = r.peek(n); err != nil {
			return p, 0, false, err
		}
		if !intact(b[:n]) {
			r.work -= n
			continue
		}
		p, _ = store.DecodePart(b[recordHead:n:n])
		r.off += n
		return p, r.off - n - from, true, nil
	}
	return p, r.size - r.off, false, nil
}

// peek returns n bytes at off, or fewer at the end of the file.
func (r *recordScan) peek(n int64) ([]byte, error) {
	n = min(n, r.size-r.off)
	if have := r.buf[min(r.off-r.bufOff, int64(len(r.buf))):]; int64(len(have)) >= n {
		return have, nil
	}
	r.buf, r.bufOff = make([]byte, min(max(n, scanBlock), r.size-r.off)), r.off
	if _, err := r.f.ReadAt(r.buf, r.off); err != nil && err != io.EOF {
		return nil, fmt.Errorf("read spool %s: %w", r.f.Name(), err)
	}
	return r.buf, nil
}

// scanSpool returns the complete events of a spool and the highest Seq in it.
func scanSpool(f fileReader) (found map[uint64]store.Event, last uint64, err error) {
	r, err := newRecordScan(f, spoolHead)
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
			return scanPipes(f)
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
			e.Payload, e.Unterminated = append(e.Payload, p.Payload...), p.Unterminated
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
func scanPipes(f fileReader) (found map[uint64]store.Event, last uint64, err error) {
	r, err := newRecordScan(f, spoolHead)
	if err != nil {
		return nil, 0, err
	}
	found = map[uint64]store.Event{}
	type pipe struct {
		store.Kind
		transport.Direction
	}
	a, joined := store.NewAssembler(spoolStart.Mark), map[pipe]bool{}
	take := func() {
		for e, ok := a.Next(); ok; e, ok = a.Next() {
			e.Payload = bytes.Clone(e.Payload)
			found[e.Seq], last = e, e.Seq
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
