package boltstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/store"
)

// Salvaged says what could be saved of a session that is damaged.
type Salvaged struct {
	ID    store.SessionID
	Saved uint64 // events
	Lost  uint64 // events that are known to be missing; a lost event stands for each
}

// salvageSession returns the log that can be made of what is left of a session.
func salvageSession(ctx context.Context, s *Store, id store.SessionID) ([]store.Event, error) {
	key, err := id.Bytes()
	if err != nil {
		return nil, err
	}
	g := &salvage{s: s, key: key, id: sessionID(key), found: map[uint64]store.Event{}}
	if err := g.fromDatabase(ctx); err != nil && !errors.Is(err, fs.ErrNotExist) && !isOdd(err) {
		return nil, err
	}
	if err := g.fromSpools(); err != nil {
		return nil, err
	}
	events, _ := g.log()
	if len(events) == 0 {
		return nil, store.ErrNotFound
	}
	return events, nil
}

// salvage collects the events of one session from wherever they are.
type salvage struct {
	s          *Store
	key        [16]byte
	id         store.SessionID
	projection *projection
	found      map[uint64]store.Event
	first      store.Event // of a spool, if one has it: its header is not masked
	last       uint64      // the highest Seq that is known to have been
	cause      string
}

// fromDatabase takes what the month's file holds.
func (g *salvage) fromDatabase(ctx context.Context) error {
	path := g.s.databasePath(g.key)
	f, release, err := g.s.lockDatabase(ctx, path, true)
	if err != nil {
		return err
	}
	defer release()
	w, err := scanDatabase(f)
	if err != nil {
		return err
	}
	return g.fromWreck(w, path)
}

func (g *salvage) fromWreck(w *databaseScan, path string) error {
	found, err := w.events(g.key)
	g.found = found
	if r := w.sessions[g.key]; r != nil {
		g.projection = r.projection
	}
	if g.projection != nil && !g.projection.deleted {
		g.last = g.projection.session.Head.Seq
	}
	g.cause = path + " is damaged"
	return err
}

// fromSpools takes what the session's spool, and one that was kept because it is
// damaged, or was being made by a release up to 0.1.0, hold. An event of theirs goes before one that says it was lost.
func (g *salvage) fromSpools() error {
	if g.projection != nil && g.projection.deleted {
		return nil
	}
	for _, end := range []string{".log", ".damaged", ".renewed"} {
		path := g.s.spoolFile(g.id, end)
		f, err := g.s.disk.open(path)
		if errors.Is(err, fs.ErrNotExist) || isOdd(err) {
			continue
		}
		if err != nil {
			return err
		}
		found, last, err := scanSpool(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if first, ok := found[1]; ok {
			g.first = first
		}
		for seq, e := range found {
			if old, ok := g.found[seq]; !ok || old.Kind == store.Lost && e.Kind != store.Lost {
				g.found[seq] = e
			}
		}
		g.last, g.cause = max(g.last, last), path+" is damaged"
	}
	return nil
}

// log makes a whole log of what was found: with a lost event in the place of
// each that is missing, and with a header made of the listing's facts, or of
// the id alone, if that is missing.
func (g *salvage) log() (events []store.Event, sum Salvaged) {
	sum.ID = g.id
	if len(g.found) == 0 && (g.projection == nil || g.projection.deleted) {
		return nil, sum
	}
	for _, seq := range slices.Sorted(maps.Keys(g.found)) {
		g.last = max(g.last, seq)
	}
	lost := store.EncodePayload(store.LostInfo{Frames: 1, Reason: g.cause})
	var head store.Head
	for seq := uint64(1); seq <= g.last; seq++ {
		e, ok := g.found[seq]
		if seq == 1 && !(ok && g.ours(e)) {
			ok = g.projection != nil
			e = store.Event{Seq: 1, Kind: store.Opened, Payload: g.header().Encode()}
		} else if _, err := head.Next(e); !ok || err != nil {
			ok = false
			e = store.Event{Seq: seq, At: head.At, Kind: store.Lost, Payload: lost}
		}
		if head.Sealed { // what is behind its end is none of it
			break
		}
		head = store.Head{Seq: e.Seq, At: e.At, Sealed: e.Kind == store.Closed}
		if events = append(events, e); ok {
			sum.Saved++
		} else {
			sum.Lost++
		}
	}
	return events, sum
}

// mask masks the events of the log, if they are to be.
func (g *salvage) mask(events []store.Event) error {
	mask, err := g.s.maskOf(g.first)
	for i := range events {
		if mask != nil {
			events[i] = mask(events[i])
		}
	}
	return err
}

// ours reports whether an event opens this session.
func (g *salvage) ours(e store.Event) bool {
	h, err := store.ParseHeader(e.Payload)
	return e.Kind == store.Opened && err == nil && strings.EqualFold(string(h.ID), string(g.id))
}

func (g *salvage) header() store.Header {
	if g.projection != nil {
		return g.projection.session.Header
	}
	h := store.Header{ID: g.id, Label: "salvaged"}
	if g.key[6]>>4 == 7 {
		h.Start = startOf(g.key)
	}
	return h
}

// maxFacts is more than any projection takes.
const maxFacts = 1 << 20

// databaseScan is what a damaged database still holds, found without its tree: every
// chunk and every projection has a checksum over its key and itself, so it is
// known wherever it stands.
type databaseScan struct {
	f        io.ReaderAt
	size     int64
	pageSize int64
	skip     map[uint64]bool // pages that hold what is removed or was replaced
	used     map[uint64]bool // pages that the tree still leads to
	page     uint64          // the one looked at
	sessions map[[16]byte]*foundSession
	bodies   map[[32]byte]extent
	counted  bool     // its head was found where it belongs
	want     uint64   // sessions that it states
	wantKeys [16]byte // the exclusive or of their keys
	newer    error    // something of it was written by a newer version
}

// foundSession is what is left of a session.
type foundSession struct {
	projection *projection
	chunks     map[uint64]extent // by their first Seq
}

// extent is where a value stands in the file.
type extent struct{ off, n int64 }

// scanDatabase looks through all pages of a file.
func scanDatabase(f *os.File) (*databaseScan, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	w := &databaseScan{f: f, size: info.Size(), pageSize: int64(os.Getpagesize()), skip: map[uint64]bool{}, sessions: map[[16]byte]*foundSession{}, bodies: map[[32]byte]extent{}}
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
func (w *databaseScan) skipFree(f *os.File) {
	t := &pageTree{f: f, seen: map[uint64]bool{}}
	root, free, err := t.meta()
	if err != nil || int64(t.pageSize) != w.pageSize {
		return
	}
	used := &pageTree{f: f, pageSize: t.pageSize, pages: t.pages, seen: map[uint64]bool{}}
	_ = walk{pageTree: used, lenient: true}.visit(root, nil, nil, 0)
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

// elements looks for values whose elements stand on a page, whatever its head
// says. Small buckets are pages within a page.
func (w *databaseScan) elements(page int64, b []byte) {
	for at := pageHead; at+16 <= len(b); at += 16 {
		e := b[at:]
		keySize := int64(binary.NativeEndian.Uint32(e[8:]))
		off, n := page+int64(at)+int64(binary.NativeEndian.Uint32(e[4:])), int64(binary.NativeEndian.Uint32(e[12:]))
		if keySize > int64(len(key{})) || off+keySize+n > w.size || n > maxChunk {
			continue
		}
		k, v := w.value(extent{off, keySize}), extent{off + keySize, n}
		switch {
		case string(k) == string(keyHead):
			w.head(v)
		case string(k) == string(bucketMonth) || string(k) == string(bucketMeta) || string(k) == string(bucketEv) || string(k) == string(bucketBody):
			if n > 16+pageHead && n < w.pageSize {
				w.elements(v.off+16, w.value(extent{v.off + 16, n - 16}))
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
func (w *databaseScan) value(at extent) []byte {
	b := make([]byte, at.n)
	if _, err := w.f.ReadAt(b, at.off); err != nil {
		return nil
	}
	return b
}

func (w *databaseScan) of(id [16]byte) *foundSession {
	r := w.sessions[id]
	if r == nil {
		r = &foundSession{chunks: map[uint64]extent{}}
		w.sessions[id] = r
	}
	return r
}

// head takes what says how many sessions there are.
func (w *databaseScan) head(at extent) {
	if at.n != 29 {
		return
	}
	b := w.value(at)
	if b == nil || !isCount(b) {
		return
	}
	w.counted = w.counted || w.used[w.page]
	if n := binary.LittleEndian.Uint64(b[1:]); n >= w.want {
		w.want, w.wantKeys = n, [16]byte(b[9:])
	}
}

// facts takes a projection. One that says that the session is removed is always
// believed, else the one with more events.
func (w *databaseScan) facts(id [16]byte, at extent) {
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
	if r.projection == nil || p.deleted || !r.projection.deleted && p.session.Head.Seq >= r.projection.session.Head.Seq {
		r.projection = &p
	}
}

// chunk takes a chunk, and the pages that it fills.
func (w *databaseScan) chunk(k key, at extent) {
	if at.n < chunkHead {
		return
	}
	c := chunk{key: k, data: w.value(at)}
	f, err := c.header()
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
func (w *databaseScan) fills(at extent) {
	for id := at.off/w.pageSize + 1; id*w.pageSize < at.off+at.n; id++ {
		w.skip[uint64(id)] = true
	}
}

// events returns the events of a session that are whole.
func (w *databaseScan) events(id [16]byte) (found map[uint64]store.Event, err error) {
	found = map[uint64]store.Event{}
	r := w.sessions[id]
	if r == nil || r.projection != nil && r.projection.deleted {
		return found, nil
	}
	for first, at := range r.chunks {
		c := chunk{key: chunkKey(id, first), data: w.value(at)}
		if c.data == nil {
			return found, fmt.Errorf("session %s: event %d: read", sessionID(id), first)
		}
		if f, err := c.header(); err == nil {
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
