package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
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
	known      bool       // the database has a projection
	spool      fileReader // nil: the database has the whole session
	folded     bool       // read the database even if the spool has more
	first      []chunk    // copied already
	stale      error      // not nil: the database may lack its newest events
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
		if x.spool, err = s.openSpool(x.id, key); err != nil && !errors.Is(err, fs.ErrNotExist) && !isOdd(err) {
			return nil, err
		}
		err = x.look(ctx, from)
		switch {
		case err != nil && x.spool != nil && ctx.Err() == nil:
			x.projection, x.known = projection{}, false // the spool has the whole session
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
	x.projection, x.known = projection{}, false
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
		return x.readChunks(ctx, from, yield)
	}
	if from > 1 && from < x.unfolded().Seq {
		// The spool would have to be read from its beginning. If the database cannot be read,
		// the spool goes on from there.
		stopped := false
		err := x.readChunks(ctx, from, func(e store.Event, err error) bool {
			from, stopped = e.Seq+1, !yield(e, err)
			return !stopped
		})
		if !errors.Is(err, store.ErrNotFound) {
			err = ctx.Err()
		}
		if stopped || err != nil {
			return err
		}
	}
	start := spoolStart
	if m := x.unfolded(); x.projection.spooled != 0 && from >= m.Seq {
		start = m
	}
	return x.readSpool(ctx, newSpoolReader(x.spool, start), from, o.Follow, yield)
}

// readSpool yields events from a spool, which holds the whole session.
func (x *source) readSpool(ctx context.Context, r *spoolReader, from uint64, follow bool, yield func(store.Event, error) bool) error {
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
				stopped := false
				x.first = nil
				err := x.readChunks(ctx, max(from, r.next), func(e store.Event, err error) bool {
					stopped = !yield(e, err)
					return !stopped
				})
				*r = *newSpoolReader(r.file, x.unfolded())
				if stopped || x.projection.spooled == 0 || err != nil {
					return err
				}
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
		if !follow || !live || r.sealed {
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
func (x *source) readChunks(ctx context.Context, from uint64, yield func(store.Event, error) bool) error {
	for from <= x.projection.session.Head.Seq {
		chunks := x.first
		x.first = nil
		if chunks == nil {
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
				return err
			}
			continue
		}
		for _, c := range chunks {
			stopped := false
			err := c.events(func(e store.Event) bool {
				if e.Seq < from {
					return true
				}
				from = e.Seq + 1
				stopped = ctx.Err() != nil || !yield(e, nil)
				return !stopped
			})
			if err != nil {
				return fmt.Errorf("%s: %w", x.path, err)
			}
			if stopped {
				return ctx.Err()
			}
		}
	}
	return x.stale
}

// Head returns the end of the log.
func (s *Store) Head(ctx context.Context, id store.SessionID) (head store.Head, err error) {
	err = s.with(ctx, id, "head of", func(x *source) error {
		head = x.projection.session.Head
		if x.spool == nil {
			return x.stale
		}
		return x.rest(ctx, func(e store.Event) (err error) {
			head, err = head.Next(e)
			return err
		})
	})
	return head, err
}

// Settled returns the head of a session that is in the database whole, at next to no cost. ok
// is false for a session that is in a spool as well or cannot be found.
func (s *Store) Settled(ctx context.Context, id store.SessionID) (head store.Head, ok bool) {
	err := s.with(ctx, id, "head of", func(x *source) error {
		head, ok = x.projection.session.Head, x.spool == nil
		return nil
	})
	return head, ok && err == nil
}

// OpenLines returns the unterminated lines of a live session.
func (s *Store) OpenLines(ctx context.Context, id store.SessionID) (lines []store.OpenLine, err error) {
	err = s.with(ctx, id, "open lines of", func(x *source) error {
		if live, err := s.live(x.id); err != nil || !live || x.spool == nil {
			return err
		}
		r := newSpoolReader(x.spool, x.unfolded())
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
func (s *Store) Sessions(ctx context.Context, q store.Query) iter.Seq2[store.Session, error] {
	return func(yield func(store.Session, error) bool) {
		l := &listing{store: s, query: q, spooled: map[store.SessionID]bool{}}
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

// Usage counts the bytes of files and sessions without reading payloads. The error names files
// that cannot be read; the rest is counted.
func (s *Store) Usage(ctx context.Context) (Usage, error) {
	u := Usage{Stored: map[store.SessionID]int64{}}
	if err := s.begin(ctx); err != nil {
		return u, fmt.Errorf("usage of store: %w", err)
	}
	defer s.end()
	faults := []error{u.addSpools(s.spools)}
	paths, foreign, err := s.databasePaths()
	faults = append(append(faults, foreign...), err)
	for _, path := range paths {
		if err := u.addDatabase(ctx, s.databases, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, err)
		}
	}
	entries, err := readDir(s.storeDir())
	faults = append(faults, err)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.Contains(e.Name(), ".damaged") {
			u.Damaged.add(info.Size())
		}
	}
	return u, errors.Join(errors.Join(faults...), ctx.Err())
}

// rest calls f for the events of a spool that are not in the database. f must not keep them.
func (x *source) rest(ctx context.Context, f func(store.Event) error) error {
	live, err := x.store.live(x.id)
	if err != nil {
		return err
	}
	r := newSpoolReader(x.spool, x.unfolded())
	r.reuse, r.bounded = true, live
	for {
		e, ok, err := r.read()
		switch {
		case err != nil:
			return err
		case ok:
			if err := f(e); err != nil {
				return err
			}
		case live || r.ended:
			return errors.Join(r.checkLive(), ctx.Err())
		default:
			if err := r.end(); err != nil {
				return err
			}
		}
	}
}
