package boltstore

import (
	"errors"
	"fmt"
	"io"

	"github.com/mcprec/mcprec/store"
)

const (
	headsBlock = 16 << 10
	smallBody  = 4 << 10 // of the records that are read with their heads
)

// heads walks over the records of a spool by their heads.
type heads struct {
	f      reader
	size   int64
	off    int64  // of the next record
	buf    []byte // the file's bytes from bufOff
	bufOff int64
	record []byte // by whole
}

// part returns the part in the next record and the record's length, 0 at the
// end of what can be read. Of a large part it gives the head, with a payload
// that is not whole.
func (h *heads) part() (p store.Part, n int64, err error) {
	b, err := h.peek(recordHead)
	if len(b) < recordHead || err != nil {
		return p, 0, err
	}
	n = int64(recordLen(b))
	if n == 0 || n > h.size-h.off {
		return p, 0, nil
	}
	if b, err = h.peek(int(min(n, smallBody))); err != nil || int64(len(b)) < min(n, smallBody) {
		return p, 0, err
	}
	p, err = store.DecodePart(b[recordHead:])
	return p, n, err
}

// peek returns the n bytes at off, or fewer at the end of the file.
func (h *heads) peek(n int) ([]byte, error) {
	if have := h.buf[min(h.off-h.bufOff, int64(len(h.buf))):]; len(have) >= n {
		return have[:n], nil
	}
	if h.buf == nil {
		h.buf = make([]byte, headsBlock)
	}
	h.buf = h.buf[:cap(h.buf)]
	got, err := h.f.ReadAt(h.buf, h.off)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read spool %s: %w", h.f.Name(), err)
	}
	h.buf, h.bufOff = h.buf[:got], h.off
	return h.buf[:min(n, got)], nil
}

// whole returns the part in the record of length n at off, all of it, checked, in
// memory that the next call uses again.
func (h *heads) whole(n int64) (store.Part, error) {
	if int64(cap(h.record)) < n {
		h.record = make([]byte, n)
	}
	b := h.record[:n]
	if _, err := h.f.ReadAt(b, h.off); err != nil {
		return store.Part{}, fmt.Errorf("read spool %s: %w", h.f.Name(), err)
	}
	if !intact(b) {
		return store.Part{}, fmt.Errorf("read spool %s: record at byte %d: %w", h.f.Name(), h.off, store.ErrCorrupt)
	}
	return store.DecodePart(b[recordHead:])
}
