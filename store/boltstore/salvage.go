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

// Salvaged is the result for one damaged session.
type Salvaged struct {
	ID    store.SessionID
	Saved uint64 // events
	Lost  uint64 // events known to be missing
}

// salvageSession makes a log of the intact events of a session.
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

// salvage collects the events of one session from its database and spools.
type salvage struct {
	s          *Store
	key        [16]byte
	id         store.SessionID
	projection *projection
	found      map[uint64]store.Event
	first      store.Event // of a spool, whose header is not masked
	last       uint64      // the highest known Seq
	cause      string
}

// fromDatabase adds the events in the database's file.
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

// fromSpools adds the events in the session's spool, in a damaged spool that was kept, and in
// a copy by a release up to 0.1.0. They replace lost events.
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

// log returns a complete log: a lost event stands for each missing one, and a missing header
// is made from the projection or the id.
func (g *salvage) log() (events []store.Event, sum Salvaged) {
	sum.ID = g.id
	if len(g.found) == 0 && (g.projection == nil || g.projection.deleted) {
		return nil, sum
	}
	for _, seq := range slices.Sorted(maps.Keys(g.found)) {
		g.last = max(g.last, seq)
	}
	lost := store.EncodePayload(store.LostInfo{Frames: 1, Reason: g.cause})
	opens := func(e store.Event) bool {
		h, err := store.ParseHeader(e.Payload)
		return e.Kind == store.Opened && err == nil && strings.EqualFold(string(h.ID), string(g.id))
	}
	var head store.Head
	for seq := uint64(1); seq <= g.last; seq++ {
		e, ok := g.found[seq]
		if seq == 1 && !(ok && opens(e)) {
			ok = g.projection != nil
			e = store.Event{Seq: 1, Kind: store.Opened, Payload: g.header().Encode()}
		} else if _, err := head.Next(e); !ok || err != nil {
			ok = false
			e = store.Event{Seq: seq, At: head.At, Kind: store.Lost, Payload: lost}
		}
		if head.Sealed { // nothing follows the end of a log
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

// mask masks the events of the log if the header asks for it.
func (g *salvage) mask(events []store.Event) error {
	mask, err := g.s.maskOf(g.first)
	for i := range events {
		if mask != nil {
			events[i] = mask(events[i])
		}
	}
	return err
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

// maxFacts is more than the size of any projection.
const maxFacts = 1 << 20

// databaseScan holds the intact values of a damaged database. It finds them without the tree:
// every chunk and projection has a checksum over its key and itself.
type databaseScan struct {
	f        io.ReaderAt
	size     int64
	pageSize int64
	skip     map[uint64]bool // pages not to scan: free, or filled by a value
	used     map[uint64]bool // pages that the tree leads to
	page     uint64          // being scanned
	sessions map[[16]byte]*foundSession
	bodies   map[[32]byte]extent
	counted  bool     // a head was found in a page in use
	want     uint64   // number of sessions in the head
	wantKeys [16]byte // the exclusive or of their keys
	newer    error    // a newer version wrote a part of it
}

// foundSession holds the values of one session.
type foundSession struct {
	projection *projection
	chunks     map[uint64]extent // by their first Seq
}

// extent is the place of a value in the file.
type extent struct{ off, n int64 }

// scanDatabase scans all pages of a file.
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
			continue // other parts of the disk may be readable
		}
		w.elements(int64(id)*w.pageSize, page[:n])
	}
	return w, w.newer
}

// skipFree marks the free pages, which still hold removed values. It trusts their list only if
// both meta pages are intact and no page in the list is in use.
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

// elements scans a page for elements and reads their values, whatever the page's head says.
// Small buckets are pages within a page.
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

// value reads an extent; nil if it cannot.
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

// head reads the head of the database.
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

// facts reads a projection. A tombstone goes before any other, and the projection with more
// events before one with fewer.
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

// chunk reads a chunk and marks the pages that it fills.
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

// fills marks the pages that a value fills.
func (w *databaseScan) fills(at extent) {
	for id := at.off/w.pageSize + 1; id*w.pageSize < at.off+at.n; id++ {
		w.skip[uint64(id)] = true
	}
}

// events returns the intact events of a session.
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
