package boltstore

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/store"
)

// source is where a session is: in the database, in its spool, or in both.
type source struct {
	store      *Store
	id         store.SessionID
	key        [16]byte
	path       string // of the database
	projection projection
	known      bool         // the database has a projection
	spool      fileReader   // nil: the database has the whole session
	folded     bool         // read the database even if the spool has more
	first      []keyedChunk // copied already
	stale      error        // not nil: the database may lack its newest events
}

// close closes the spool.
func (x *source) close() {
	if x.spool != nil {
		_ = x.spool.Close()
	}
}

// locate finds a session and, if it is in the database, copies its first chunks from event
// `from` on (0: none). It looks for the spool first, because a spool is removed only after the
// database has all of it.
func (s *Store) locate(ctx context.Context, id store.SessionID, from uint64) (*source, error) {
	key, err := id.Bytes()
	if err != nil {
		return nil, err
	}
	x := &source{store: s, id: sessionID(key), key: key, path: s.databasePath(key)}
	for try := 0; ; try++ {
		x.spool, err = s.openSpool(x.id, key)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !isOdd(err) {
			return nil, err
		}
		err = x.look(ctx, from)
		switch {
		case err != nil && x.spool != nil && ctx.Err() == nil:
			x.projection = projection{}
			x.known = false // the spool has the whole session
			return x, nil
		case err != nil:
			x.close()
			return nil, err
		case x.known && x.projection.deleted:
			x.close()
			return nil, store.ErrNotFound
		case x.known && x.projection.spooled == 0:
			x.close()
			x.spool = nil
			return x, nil
		case x.spool != nil:
			return x, nil
		case try == 0:
			continue // it may have been opened or folded since
		case x.known:
			x.stale = fmt.Errorf("spool %s is gone; events after %d were in it: %w", s.spoolPath(id), x.projection.session.Head.Seq, store.ErrCorrupt)
			x.folded = true
			return x, x.look(ctx, from)
		}
		return nil, store.ErrNotFound
	}
}

// with runs f on the source of a session. The error names the attempt.
func (s *Store) with(ctx context.Context, id store.SessionID, what string, f func(*source) error) error {
	return s.call(ctx, fmt.Sprintf("%s session %s", what, id), func(ctx context.Context) error {
		x, err := s.locate(ctx, id, 0)
		if err != nil {
			return err
		}
		defer x.close()
		return f(x)
	})
}

// look reads the projection and the first chunks of a session from the database.
func (x *source) look(ctx context.Context, from uint64) error {
	x.projection = projection{}
	x.known = false
	err := x.store.view(ctx, x.path, func(tx *dbTx) (err error) {
		x.projection, x.known, err = tx.projection(x.key)
		if err != nil || !x.known || x.projection.deleted {
			return err
		}
		head := x.projection.session.Head
		if tx.stale && !head.Sealed {
			x.stale = staleError(x.path) // there may have been more
		}
		if from == 0 || x.projection.spooled != 0 && !x.folded {
			return nil
		}
		x.first, err = tx.chunks(x.key, from, head.Seq)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// unfolded returns the place in the spool behind the folded events.
func (x *source) unfolded() mark {
	if !x.known {
		return spoolStart
	}
	return x.projection.mark()
}

const (
	followPoll = 50 * time.Millisecond
	batchSize  = 4 << 20 // bytes of events that are copied under one lock
)

// Read yields the events from number `from` on.
func (s *Store) Read(ctx context.Context, id store.SessionID, from uint64, o store.ReadOptions) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		if err := s.read(ctx, id, max(from, 1), o, yield); err != nil {
			yield(store.Event{}, fmt.Errorf("read session %s: %w", id, err))
		}
	}
}

func (s *Store) read(ctx context.Context, id store.SessionID, from uint64, o store.ReadOptions, yield func(store.Event, error) bool) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	x, err := s.locate(ctx, id, from)
	s.end()
	if err != nil {
		return err
	}
	defer x.close()
	if x.spool == nil {
		for e, err := range x.readChunks(ctx, from) {
			if err != nil {
				return err
			}
			if !yield(e, nil) {
				break
			}
		}
		return nil
	}
	if from > 1 && from < x.unfolded().Seq {
		// The spool would have to be read from its beginning. If the database cannot be read,
		// the spool goes on from there.
		for e, err := range x.readChunks(ctx, from) {
			if errors.Is(err, store.ErrNotFound) {
				return err
			}
			if err != nil {
				break
			}
			from = e.Seq + 1
			if !yield(e, nil) {
				return nil
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	start := spoolStart
	if m := x.unfolded(); x.projection.spooled != 0 && from >= m.Seq {
		start = m
	}
	return x.readSpool(ctx, newSpoolReader(x.spool, start), from, o, yield)
}

// readSpool yields events from a spool, which holds the whole session.
func (x *source) readSpool(ctx context.Context, r *spoolReader, from uint64, o store.ReadOptions, yield func(store.Event, error) bool) error {
	for {
		live, err := x.store.live(x.id) // before reading: a dead recorder writes no more
		if err != nil {
			return err
		}
		for {
			e, ok, err := r.read()
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			if !ok && x.known && r.off < x.projection.spooled {
				// The spool is damaged, but the database has these events.
				x.first = nil
				for e, err := range x.readChunks(ctx, max(from, r.next)) {
					if err != nil {
						return err
					}
					if !yield(e, nil) {
						return nil
					}
				}
				if x.projection.spooled == 0 {
					return nil
				}
				*r = *newSpoolReader(r.file, x.unfolded())
				continue
			}
			if !ok && !live && !r.ended {
				if err := r.end(); err != nil {
					return err
				}
				continue
			}
			if !ok {
				if err := r.checkLive(); err != nil {
					return err
				}
				break
			}
			if e.Seq >= from && !yield(e, nil) {
				return nil
			}
		}
		if !o.Follow && o.Unfinished && live {
			for _, e := range r.assemble.Unfinished() {
				if e.Seq >= from && !yield(e, nil) {
					break
				}
			}
		}
		if !o.Follow || !live || r.sealed {
			return nil
		}
		select {
		case <-time.After(followPoll):
		case <-x.store.done:
			return store.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readChunks yields events from the database, which is locked only while chunks are copied.
func (x *source) readChunks(ctx context.Context, from uint64) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		for from <= x.projection.session.Head.Seq {
			if x.first == nil {
				x.folded = true
				err := x.store.begin(ctx)
				if err == nil {
					err = x.look(ctx, from)
					x.store.end()
				}
				if err == nil && (!x.known || x.projection.deleted) {
					err = store.ErrNotFound
				}
				if err != nil {
					yield(store.Event{}, err)
					return
				}
				continue
			}
			chunks := x.first
			x.first = nil
			for _, c := range chunks {
				for e, err := range c.events() {
					if err != nil {
						err = fmt.Errorf("%s: %w", x.path, err)
					} else if e.Seq < from {
						continue
					} else if err = ctx.Err(); err == nil {
						from = e.Seq + 1
					}
					if !yield(e, err) || err != nil {
						return
					}
				}
			}
		}
		if x.stale != nil {
			yield(store.Event{}, x.stale)
		}
	}
}

// Head returns the end of the log.
func (s *Store) Head(ctx context.Context, id store.SessionID) (head store.Head, err error) {
	err = s.with(ctx, id, "head of", func(source *source) error {
		head = source.projection.session.Head
		if source.spool == nil {
			return source.stale
		}
		_, err = source.rest(ctx, 0, func(event store.Event) (err error) {
			head, err = head.Next(event)
			return err
		})
		return err
	})
	return head, err
}

// OpenLines returns the unterminated lines of a live session.
func (s *Store) OpenLines(ctx context.Context, id store.SessionID) (lines []store.OpenLine, err error) {
	err = s.with(ctx, id, "open lines of", func(source *source) error {
		if live, err := s.live(source.id); err != nil || !live || source.spool == nil {
			return err
		}
		r := newSpoolReader(source.spool, source.unfolded())
		for {
			if _, ok, err := r.read(); !ok || err != nil {
				lines = r.assemble.OpenLines()
				return err
			}
		}
	})
	return lines, err
}

// Sessions yields the sessions that the query selects. The listing of a session
// that is still in its spool has no chain in its Head.
func (s *Store) Sessions(ctx context.Context, query store.Query) iter.Seq2[store.Session, error] {
	return func(yield func(store.Session, error) bool) {
		l := &listing{store: s, query: query, spooled: map[store.SessionID]bool{}}
		if err := s.begin(ctx); err != nil {
			l.faults = []error{err}
		} else {
			l.collect(ctx)
			s.end()
		}
		for _, err := range l.faults {
			if !yield(store.Session{}, fmt.Errorf("list sessions: %w", err)) {
				return
			}
		}
		for _, x := range l.found {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// keptOfFrame is how many bytes of a frame a reader keeps that only counts.
const keptOfFrame = 1 << 20

// rest calls f for the events of a spool that are not in the database. f must not keep them. Of frames it has
// the first keep bytes, if keep is not 0, and left is the number of the others.
func (x *source) rest(ctx context.Context, keep int, f func(store.Event) error) (left uint64, err error) {
	live, err := x.store.live(x.id)
	if err != nil {
		return 0, err
	}
	return readRest(ctx, x.spool, x.unfolded(), live, keep, f)
}

// readRest is source.rest for a spool from a mark on.
func readRest(ctx context.Context, spool fileReader, from mark, live bool, keep int, f func(store.Event) error) (left uint64, err error) {
	r := newSpoolReader(spool, from)
	r.reuse = true
	if live {
		r.most = smallEvent
	}
	r.assemble.KeepOnly(keep)
	for {
		e, ok, err := r.read()
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
			return 0, err
		case ok:
			if err := f(e); err != nil {
				return 0, err
			}
		case live || r.ended:
			return r.assemble.Left(), r.checkLive()
		default:
			if err := r.end(); err != nil {
				return 0, err
			}
		}
	}
}

// listing collects sessions, first from spools and then from one database after the other.
type listing struct {
	store   *Store
	query   store.Query
	spooled map[store.SessionID]bool // listed from their spools
	found   []store.Session
	indexed int // number of sessions found in databases of months
	faults  []error
}

func (l *listing) collect(ctx context.Context) {
	l.spools(ctx)
	paths, foreign, err := l.store.databasePaths()
	l.faults = append(l.faults, foreign...)
	if err != nil {
		l.faults = append(l.faults, err)
	}
	// The paths are sorted by name. other.db must come first: its sessions may be of any time.
	if last := len(paths) - 1; l.query.Newest {
		slices.Reverse(paths)
	} else if last > 0 && filepath.Base(paths[last]) == "other.db" {
		paths = slices.Insert(paths[:last], 0, paths[last])
	}
	for _, path := range paths {
		if name := filepath.Base(path); l.query.Limit > 0 && l.indexed >= l.query.Limit && name != "other.db" {
			break // its sessions all come later
		}
		if err := l.database(ctx, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.faults = append(l.faults, err)
		}
	}
	l.found = l.query.Order(l.found)
}

// spools lists the sessions of which at least a part is only in a spool.
func (l *listing) spools(ctx context.Context) {
	files, err := l.store.files()
	if err != nil {
		l.faults = append(l.faults, err)
	}
	for _, f := range files {
		if f.ending != ".log" || !strings.HasPrefix(string(f.id), l.query.Prefix) {
			continue
		}
		session, err := l.spooledSession(ctx, f.id)
		switch {
		case errors.Is(err, store.ErrNotFound): // folded or deleted since
		case err != nil:
			l.faults = append(l.faults, fmt.Errorf("session %s: %w", f.id, err))
			l.spooled[f.id] = true
		case session.State != "":
			l.found = append(l.found, session)
			l.spooled[f.id] = true
		}
	}
}

// spooledSession lists a session that has a spool. Its State is "" if the database has the
// whole session.
func (l *listing) spooledSession(ctx context.Context, id store.SessionID) (listed store.Session, err error) {
	x, err := l.store.locate(ctx, id, 0)
	if err != nil {
		return store.Session{}, err
	}
	defer x.close()
	if x.spool == nil {
		return store.Session{}, nil
	}
	live, err := l.store.live(id)
	if err != nil {
		return store.Session{}, err
	}
	session := x.projection.session
	session.Head.Chain = [32]byte{}
	defer func() { listed.ID = x.id }()
	if x.projection.rest.isOf(x.spool) {
		session = x.projection.rest.of(session)
		session.State = session.Head.State(live)
		return session, nil
	}
	left, err := x.rest(ctx, keptOfFrame, counting(&session))
	session.Bytes += left
	if session.Head.Seq == 0 && err == nil {
		return session, nil // its first record is not complete
	}
	session.State = session.Head.State(live)
	return session, err
}

// counting returns a function that counts events, without the chain of their bytes.
func counting(session *store.Session) func(store.Event) error {
	return func(event store.Event) error {
		session.Head = store.Head{Seq: event.Seq, At: event.At, Sealed: event.Kind == store.Closed}
		return session.Count(event)
	}
}

// database lists the sessions of one database.
func (l *listing) database(ctx context.Context, path string) error {
	digits := strings.ReplaceAll(l.query.Prefix, "-", "")
	prefix, _ := hex.DecodeString(digits[:min(len(digits), 32)&^1]) // the complete bytes before anything else
	var found []store.Session
	others := 0
	err := l.store.view(ctx, path, func(tx *dbTx) error {
		found, others = found[:0], 0
		if tx.stale {
			l.faults = append(l.faults, staleError(path))
		}
		if l.query.Limit == 0 && l.query.Prefix == "" {
			if err := tx.checkCount(nil); err != nil {
				return err
			}
		}
		if err := tx.readable(bucketMeta, prefix, after(prefix)); err != nil {
			return err
		}
		c := tx.meta.Cursor()
		k, v := c.Seek(prefix)
		step := c.Next
		if l.query.Newest {
			k, v = seekBefore(c, after(prefix))
			step = c.Prev
		}
		for ; k != nil && bytes.HasPrefix(k, prefix); k, v = step() {
			// The keys of a month are in order of time, to the millisecond.
			if l.query.Limit > 0 && l.indexed+len(found) >= l.query.Limit && len(found) > 0 && filepath.Base(path) != "other.db" {
				last, err := found[len(found)-1].ID.Bytes()
				if err == nil && !bytes.Equal(last[:6], k[:6]) {
					return nil // it comes later
				}
			}
			p, err := decodeProjection([16]byte(k), v, path)
			if errors.Is(err, store.ErrCorrupt) {
				l.faults = append(l.faults, err)
				continue
			}
			if err != nil {
				return err
			}
			if !belongsIn(path, k) {
				others++
			} else if x := p.session; !p.deleted && !l.spooled[x.ID] && strings.HasPrefix(string(x.ID), l.query.Prefix) {
				x.State = x.Head.State(false)
				found = append(found, x)
			}
		}
		return nil
	})
	l.found = append(l.found, found...)
	if others > 0 {
		l.faults = append(l.faults, misplacedError(path, others))
	}
	if filepath.Base(path) != "other.db" {
		l.indexed += len(found)
	}
	return err
}
