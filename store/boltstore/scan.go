package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mcprec/mcprec/store"
)

// maxFacts is more than any projection takes.
const maxFacts = 1 << 20

// wreck is what a damaged database still holds, found without its tree: every
// chunk and every projection has a checksum over its key and itself, so it is
// known wherever it stands.
type wreck struct {
	f        io.ReaderAt
	size     int64
	pageSize int64
	skip     map[uint64]bool // pages that hold what is removed or was replaced
	used     map[uint64]bool // pages that the tree still leads to
	page     uint64          // the one looked at
	sessions map[[16]byte]*remains
	bodies   map[[32]byte]place
	counted  bool     // its head was found where it belongs
	want     uint64   // sessions that it states
	wantKeys [16]byte // the exclusive or of their keys
	newer    error    // something of it was written by a newer version
}

// remains is what is left of a session.
type remains struct {
	facts  *projection
	chunks map[uint64]place // by their first Seq
}

// place is where a value stands in the file.
type place struct{ off, n int64 }

// scanDatabase looks through all pages of a file.
func scanDatabase(f *os.File) (*wreck, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	w := &wreck{f: f, size: info.Size(), pageSize: int64(os.Getpagesize()), skip: map[uint64]bool{}, sessions: map[[16]byte]*remains{}, bodies: map[[32]byte]place{}}
	w.skipFree(f)
	page := make([]byte, w.pageSize)
	for id := uint64(2); int64(id)*w.pageSize < w.size; id++ {
		if w.skip[id] {
			continue
		}
		w.page = id
		n, err := f.ReadAt(page, int64(id)*w.pageSize)
		if err != nil && err != io.EOF {
			continue // a part of the disk that cannot be read; others can
		}
		w.elements(int64(id)*w.pageSize, page[:n])
	}
	return w, w.newer
}

// skipFree leaves out the pages that are free, where what was removed still
// stands. The list of them is believed only if both meta pages are whole and no
// page in it is in use.
func (w *wreck) skipFree(f *os.File) {
	t := &tree{f: f, seen: map[uint64]bool{}}
	root, free, err := t.meta()
	if err != nil || int64(t.pageSize) != w.pageSize {
		return
	}
	used := &tree{f: f, pageSize: t.pageSize, pages: t.pages, seen: map[uint64]bool{}}
	used.reach(root, 0)
	w.used = used.seen
	if !metaPages(f, int(t.pageSize)) || t.freelist(free) != nil {
		return
	}
	for id := range t.seen {
		if used.seen[id] {
			return
		}
	}
	w.skip = t.seen
}

// reach marks the pages that can be reached from one, past those that cannot be
// read.
func (t *tree) reach(id uint64, depth int) {
	b, err := t.page(id)
	if err != nil || depth > maxDepth {
		return
	}
	n := int(binary.NativeEndian.Uint16(b[10:]))
	for i := range n {
		switch binary.NativeEndian.Uint16(b[8:]) {
		case pageBranch:
			if _, err := branchKey(b, i); err == nil {
				t.reach(binary.NativeEndian.Uint64(b[pageHead+i*16+8:]), depth+1)
			}
		case pageLeaf:
			if _, value, flags, err := leafElement(b, i); err == nil && flags&1 != 0 && len(value) >= 16 {
				t.reach(binary.NativeEndian.Uint64(value), depth+1)
			}
		}
	}
}

// elements looks for values whose elements stand on a page, whatever its head
// says. Small buckets are pages within a page.
func (w *wreck) elements(page int64, b []byte) {
	for at := pageHead; at+16 <= len(b); at += 16 {
		e := b[at:]
		keySize := int64(binary.NativeEndian.Uint32(e[8:]))
		off, n := page+int64(at)+int64(binary.NativeEndian.Uint32(e[4:])), int64(binary.NativeEndian.Uint32(e[12:]))
		if keySize > int64(len(key{})) || off+keySize+n > w.size || n > maxChunk {
			continue
		}
		k, v := w.value(place{off, keySize}), place{off + keySize, n}
		switch {
		case string(k) == string(keyHead):
			w.head(v)
		case string(k) == string(bucketMonth) || string(k) == string(bucketMeta) || string(k) == string(bucketEv) || string(k) == string(bucketBody):
			if n > 16+pageHead && n < w.pageSize {
				w.elements(v.off+16, w.value(place{v.off + 16, n - 16}))
			}
		case len(k) == 8:
			w.body(v)
		case len(k) == 16:
			w.facts([16]byte(k), v)
		case len(k) == len(key{}):
			w.chunk(key(k), v)
		}
	}
}

// value reads what stands at a place, or nil.
func (w *wreck) value(at place) []byte {
	b := make([]byte, at.n)
	if _, err := w.f.ReadAt(b, at.off); err != nil {
		return nil
	}
	return b
}

func (w *wreck) of(id [16]byte) *remains {
	r := w.sessions[id]
	if r == nil {
		r = &remains{chunks: map[uint64]place{}}
		w.sessions[id] = r
	}
	return r
}

// head takes what says how many sessions there are.
func (w *wreck) head(at place) {
	if at.n != 29 {
		return
	}
	b := w.value(at)
	if b == nil || !checkMonthHead(b) {
		return
	}
	w.counted = w.counted || w.used[w.page]
	if n := binary.LittleEndian.Uint64(b[1:]); n >= w.want {
		w.want, w.wantKeys = n, [16]byte(b[9:])
	}
}

// facts takes a projection. One that says that the session is removed is always
// believed, else the one with more events.
func (w *wreck) facts(id [16]byte, at place) {
	if at.n > maxFacts {
		return
	}
	p, err := decodeProjection(id, w.value(at), "")
	if errors.Is(err, store.ErrNewer) && metaSum(id, w.value(at)) == binary.LittleEndian.Uint32(w.value(at)) {
		w.newer = err
	}
	if err != nil {
		return
	}
	r := w.of(id)
	if r.facts == nil || p.deleted || !r.facts.deleted && p.session.Head.Seq >= r.facts.session.Head.Seq {
		r.facts = &p
	}
}

// chunk takes a chunk, and the pages that it fills.
func (w *wreck) chunk(k key, at place) {
	if at.n < chunkHead {
		return
	}
	c := chunk{key: k, data: w.value(at)}
	f, err := c.facts()
	if errors.Is(err, store.ErrNewer) {
		w.newer = err
	}
	if err != nil {
		return
	}
	w.of([16]byte(k[:])).chunks[f.first] = at
	w.fills(at)
}

// fills leaves out the pages that a value fills.
func (w *wreck) fills(at place) {
	for id := at.off/w.pageSize + 1; id*w.pageSize < at.off+at.n; id++ {
		w.skip[uint64(id)] = true
	}
}

// events returns the events of a session that are whole.
func (w *wreck) events(id [16]byte) (found map[uint64]store.Event, err error) {
	found = map[uint64]store.Event{}
	r := w.sessions[id]
	if r == nil || r.facts != nil && r.facts.deleted {
		return found, nil
	}
	for first, at := range r.chunks {
		c := chunk{key: chunkKey(id, first), data: w.value(at)}
		if c.data == nil {
			return found, fmt.Errorf("session %s: event %d: read", idOf(id), first)
		}
		if f, err := c.facts(); err == nil {
			c.bodies = w.bodiesOf(f)
		}
		_ = c.each(func(e store.Event, err error) bool {
			if err == nil {
				found[e.Seq] = e
			}
			return true
		})
	}
	return found, nil
}
