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

// salvageSession makes a log of the intact events of a session.
func salvageSession(ctx context.Context, s *Store, id store.SessionID) ([]store.Event, error) {
	key, err := id.Bytes()
	if err != nil {
		return nil, err
	}
	g := &salvage{store: s, key: key, id: sessionID(key), found: map[uint64]store.Event{}}
	path := s.databasePath(key)
	switch f, release, err := s.lockDatabase(ctx, path, true); {
	case err == nil:
		defer release()
		scan, err := scanDatabase(f)
		if err == nil {
			err = g.fromScan(scan, path)
		}
		if err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist) && !isOdd(err):
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
	store      *Store
	key        [16]byte
	id         store.SessionID
	projection *projection
	found      map[uint64]store.Event
	first      store.Event // of a spool, whose header is not masked
	last       uint64      // the highest known Seq
	open       bool        // last may not be the end: the projection that states it is lost
	beyond     uint64      // the highest Seq at which a damaged chunk begins
	cause      string
}

// fromScan adds the events in the scan of a database's file.
func (g *salvage) fromScan(scan *databaseScan, path string) error {
	found, err := scan.events(g.key)
	g.found = found
	if r := scan.sessions[g.key]; r != nil {
		g.projection = r.projection
	}
	if g.projection != nil && !g.projection.deleted {
		g.last = g.projection.session.Head.Seq
	}
	if r := scan.sessions[g.key]; r != nil && r.last > g.last {
		g.last = r.last
		g.open = true // the projection is lost, or is an old one
	}
	g.beyond = scan.damaged[g.key]
	g.cause = path + " is damaged"
	return err
}

// fromSpools adds the events in the session's spool and in a damaged spool that was kept. They
// replace lost events.
func (g *salvage) fromSpools() error {
	if g.projection != nil && g.projection.deleted {
		return nil
	}
	for _, end := range []string{".log", ".damaged"} {
		path := g.store.spoolFile(g.id, end)
		f, err := g.store.disk.open(path)
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
		g.last = max(g.last, last)
		g.cause = path + " is damaged"
	}
	return nil
}

// log returns a complete log: a lost event stands for each missing one, and one stands for all
// that is missing at an unknown end. A missing header is made from the projection or the id.
func (g *salvage) log() (events []store.Event, sum store.Salvaged) {
	sum.ID = g.id
	if len(g.found) == 0 && (g.projection == nil || g.projection.deleted) {
		return nil, sum
	}
	for _, seq := range slices.Sorted(maps.Keys(g.found)) {
		g.last = max(g.last, seq)
	}
	lost := store.LostInfo{Frames: 1, Reason: g.cause, Streams: store.AllPipes()}
	opens := func(event store.Event) bool {
		h, err := store.ParseHeader(event.Payload)
		return event.Kind == store.Opened && err == nil && strings.EqualFold(string(h.ID), string(g.id))
	}
	var head store.Head
	end := g.last
	if g.open && g.beyond > end {
		end++
	}
	for seq := uint64(1); seq <= end; seq++ {
		e, ok := g.found[seq]
		if seq == 1 && !(ok && opens(e)) {
			ok = g.projection != nil
			e = store.Event{Seq: 1, Kind: store.Opened, Payload: g.header().Encode()}
		} else if _, err := head.Next(e); !ok || err != nil {
			ok = false
			if seq > g.last {
				lost.Reason += "; more events may be missing here"
			}
			e = store.Event{Seq: seq, At: head.At, Kind: store.Lost, Payload: store.EncodePayload(lost)}
		}
		if head.Sealed { // nothing follows the end of a log
			break
		}
		head = store.Head{Seq: e.Seq, At: e.At, Sealed: e.Kind == store.Closed}
		events = append(events, e)
		if ok {
			sum.Saved++
		} else {
			sum.Lost++
		}
	}
	sum.Open = g.open && !head.Sealed
	return events, sum
}

// mask masks the events of the log if the header asks for it.
func (g *salvage) mask(events []store.Event) error {
	mask, err := g.store.maskOf(g.first)
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

// databaseScan holds the intact values in the intact pages of a damaged database. Every chunk and
// projection has a checksum over its key and itself.
type databaseScan struct {
	file     io.ReaderAt
	sessions map[[16]byte]*foundSession
	damaged  map[[16]byte]uint64 // the highest first Seq in the keys of a session's damaged chunks
	counted  bool                // the newest head was found
	want     uint64              // number of sessions in the head
	wantKeys [16]byte            // the exclusive or of their keys
	newer    error               // a newer version wrote a part of it
}

// foundSession holds the values of one session.
type foundSession struct {
	projection *projection
	chunks     map[uint64]extent // by their first Seq
	last       uint64            // the last Seq of the chunks
}

// scanDatabase reads the pages below the newest root, and then those to which only damaged pages led:
// all others that are not free. If nothing intact says which pages are free, it reads them as well:
// a transaction that a damaged meta page hides may be in them, as removed values may.
func scanDatabase(file *os.File) (*databaseScan, error) {
	scan := &databaseScan{file: file, sessions: map[[16]byte]*foundSession{}, damaged: map[[16]byte]uint64{}}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	t := &pageTree{file: file, seen: map[uint64]bool{}}
	root, freelist, err := t.meta()
	if err != nil {
		t.stale = true
		_, t.pageSize, _ = readMetas(file)
	}
	free := &pageTree{file: file, pageSize: t.pageSize, pages: t.pages, seen: map[uint64]bool{}}
	if t.stale || free.freelist(freelist) != nil {
		clear(free.seen)
	}
	t.pages = uint64(info.Size()) / t.pageSize
	w := walk{pageTree: t, each: scan.element}
	_ = w.visit(root, 0)
	isNewest := scan.counted && err == nil // a head elsewhere may be an old one, or the newest root a lost one
	for id := range t.seen {
		if free.seen[id] { // the list is damaged
			clear(free.seen)
		}
	}
	for id := uint64(2); id < t.pages; id++ {
		if !t.seen[id] && !free.seen[id] {
			_ = w.visit(id, 0)
		}
	}
	scan.counted = isNewest
	return scan, scan.newer
}

// element reads a value, by the length of its key.
func (scan *databaseScan) element(k []byte, v extent) {
	switch {
	case string(k) == string(keyHead):
		scan.head(v)
	case len(k) == 16:
		scan.facts([16]byte(k), v)
	case len(k) == len(key{}):
		scan.chunk(key(k), v)
	}
}

// value reads an extent; nil if it cannot.
func (scan *databaseScan) value(at extent) []byte {
	b := make([]byte, at.length)
	if _, err := scan.file.ReadAt(b, at.offset); err != nil {
		return nil
	}
	return b
}

func (scan *databaseScan) of(id [16]byte) *foundSession {
	r := scan.sessions[id]
	if r == nil {
		r = &foundSession{chunks: map[uint64]extent{}}
		scan.sessions[id] = r
	}
	return r
}

// head reads the head of the database.
func (scan *databaseScan) head(at extent) {
	if at.length != 29 {
		return
	}
	b := scan.value(at)
	if !isCount(b) {
		return
	}
	scan.counted = true
	if n := binary.LittleEndian.Uint64(b[1:]); n >= scan.want {
		scan.want = n
		scan.wantKeys = [16]byte(b[9:])
	}
}

// facts reads a projection. A tombstone goes before any other, and the projection with more
// events before one with fewer.
func (scan *databaseScan) facts(id [16]byte, at extent) {
	if at.length > maxFacts {
		return
	}
	b := scan.value(at)
	p, err := decodeProjection(id, b, "")
	if errors.Is(err, store.ErrNewer) && metaSum(id, b) == binary.LittleEndian.Uint32(b) {
		scan.newer = err
	}
	if err != nil {
		return
	}
	r := scan.of(id)
	if r.projection == nil || p.deleted || !r.projection.deleted && p.session.Head.Seq >= r.projection.session.Head.Seq {
		r.projection = &p
	}
}

// chunk checks a chunk.
func (scan *databaseScan) chunk(key key, at extent) {
	id := key.session()
	h, err := keyedChunk{key: key, data: scan.value(at)}.header()
	switch {
	case errors.Is(err, store.ErrNewer):
		scan.newer = err
		return
	case err != nil:
		scan.damaged[id] = max(scan.damaged[id], key.first())
		return
	}
	found := scan.of(id)
	found.chunks[key.first()] = at
	found.last = max(found.last, h.Last)
}

// events returns the intact events of a session.
func (scan *databaseScan) events(id [16]byte) (found map[uint64]store.Event, err error) {
	found = map[uint64]store.Event{}
	r := scan.sessions[id]
	if r == nil || r.projection != nil && r.projection.deleted {
		return found, nil
	}
	for first, at := range r.chunks {
		c := keyedChunk{key: chunkKey(id, first), data: scan.value(at)}
		if c.data == nil {
			return found, fmt.Errorf("session %s: event %d: read", sessionID(id), first)
		}
		for e, err := range c.events() {
			if err == nil {
				found[e.Seq] = e
			}
		}
	}
	return found, nil
}
