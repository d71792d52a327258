package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/store"
)

// Salvaged says what could be saved of a session that is damaged.
type Salvaged struct {
	ID    store.SessionID
	Saved uint64 // events
	Lost  uint64 // events that are known to be missing; a lost event stands for each
}

// Salvage yields what is left of a session that cannot be read: every event whose
// checksum holds, in the database and in its spool, and a lost event in the place
// of each that is missing. It changes nothing.
func (s *Store) Salvage(ctx context.Context, id store.SessionID) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		events, err := s.salvage(ctx, id)
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(store.Event{}, fmt.Errorf("salvage session %s: %w", id, err))
		}
	}
}

func (s *Store) salvage(ctx context.Context, id store.SessionID) ([]store.Event, error) {
	key, err := id.Bytes()
	if err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	g := &gathering{s: s, key: key, id: idOf(key), found: map[uint64]store.Event{}}
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

// gathering collects the events of one session from wherever they are.
type gathering struct {
	s     *Store
	key   [16]byte
	id    store.SessionID
	facts *projection
	found map[uint64]store.Event
	first store.Event // of a spool, if one has it: its header is not masked
	last  uint64      // the highest Seq that is known to have been
	cause string
}

// fromDatabase takes what the month's file holds.
func (g *gathering) fromDatabase(ctx context.Context) error {
	path := g.s.monthPath(g.key)
	f, release, err := g.s.holdMonth(ctx, path, true)
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

func (g *gathering) fromWreck(w *wreck, path string) error {
	found, err := w.events(g.key)
	g.found = found
	if r := w.sessions[g.key]; r != nil {
		g.facts = r.facts
	}
	if g.facts != nil && !g.facts.deleted {
		g.last = g.facts.session.Head.Seq
	}
	g.cause = path + " is damaged"
	return err
}

// fromSpools takes what the session's spool, and one that was kept because it is
// damaged, or was being made by a release up to 0.1.0, hold. An event of theirs goes before one that says it was lost.
func (g *gathering) fromSpools() error {
	if g.facts != nil && g.facts.deleted {
		return nil
	}
	for _, end := range []string{".log", ".damaged", ".renewed"} {
		path := g.s.spoolFile(g.id, end)
		f, err := g.s.machine.open(path)
		if errors.Is(err, fs.ErrNotExist) || isOdd(err) {
			continue
		}
		if err != nil {
			return err
		}
		found, last, err := rescueSpool(f)
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
func (g *gathering) log() (events []store.Event, sum Salvaged) {
	sum.ID = g.id
	if len(g.found) == 0 && (g.facts == nil || g.facts.deleted) {
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
			ok = g.facts != nil
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
func (g *gathering) mask(events []store.Event) error {
	mask, err := g.s.maskOf(g.first)
	for i := range events {
		if mask != nil {
			events[i] = mask(events[i])
		}
	}
	return err
}

// ours reports whether an event opens this session.
func (g *gathering) ours(e store.Event) bool {
	h, err := store.ParseHeader(e.Payload)
	return e.Kind == store.Opened && err == nil && strings.EqualFold(string(h.ID), string(g.id))
}

func (g *gathering) header() store.Header {
	if g.facts != nil {
		return g.facts.session.Header
	}
	h := store.Header{ID: g.id, Label: "salvaged"}
	if g.key[6]>>4 == 7 {
		ms := int64(g.key[0])<<40 | int64(g.key[1])<<32 | int64(g.key[2])<<24 | int64(g.key[3])<<16 | int64(g.key[4])<<8 | int64(g.key[5])
		h.Start = time.UnixMilli(ms).UTC()
	}
	return h
}

// holdMonth opens a database's file, locked as bbolt locks it, so that it does
// not change.
func (s *Store) holdMonth(ctx context.Context, path string, shared bool) (f *os.File, release func(), err error) {
	if f, err = openRegular(path, os.O_RDWR); errors.Is(err, fs.ErrPermission) {
		f, err = openRegular(path, os.O_RDONLY)
	}
	if err != nil {
		return nil, nil, err
	}
	for deadline := time.Now().Add(s.opts.Patience); ; {
		ok, err := lockOpen(f, shared)
		switch {
		case err != nil:
			return nil, nil, errors.Join(fmt.Errorf("lock %s: %w", path, lockError(err)), f.Close())
		case ok && underName(f, path):
			return f, func() { unlock(f); _ = f.Close() }, nil
		case ok || time.Now().After(deadline):
			return nil, nil, errors.Join(fmt.Errorf("open %s: another process holds it: %w", path, store.ErrBusy), f.Close())
		}
		if err := pause(ctx, lockRetry); err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
	}
}
