package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/mcprec/mcprec/store"
)

// source is where a session is: its facts in the database, its spool, or both.
type source struct {
	id     store.SessionID
	key    [16]byte
	path   string // of the database
	facts  projection
	known  bool    // the database has facts
	spool  reader  // nil: all is in the database
	folded bool    // read what is in the database, whether or not there is more
	first  []chunk // of what is in the database, from the Seq asked for
	stale  error   // the database may lack its newest events
}

// close lets go of the spool.
func (x *source) close() {
	if x.spool != nil {
		_ = x.spool.Close()
	}
}

// locate finds a session, and copies out its first chunks from Seq `from` (0:
// none) if it is in the database. The spool is looked for first: it is removed
// only after the database has all of it.
func (s *Store) locate(ctx context.Context, id store.SessionID, from uint64) (*source, error) {
	key, err := id.Bytes()
	if err != nil {
		return nil, err
	}
	x := &source{id: idOf(key), key: key, path: s.monthPath(key)}
	for try := 0; ; try++ {
		if x.spool, err = s.openSpool(x.id, key); err != nil && !errors.Is(err, fs.ErrNotExist) && !isOdd(err) {
			return nil, err
		}
		err = s.look(ctx, x, from)
		switch {
		case err != nil && x.spool != nil && ctx.Err() == nil:
			x.facts, x.known = projection{}, false // the spool has all of it
			return x, nil
		case err != nil:
			x.close()
			return nil, err
		case x.known && x.facts.deleted:
			x.close()
			return nil, store.ErrNotFound
		case x.known && x.facts.spooled == 0:
			x.close()
			x.spool = nil
			return x, nil
		case x.spool != nil:
			return x, nil
		case try == 0:
			continue // it may have been opened or folded in between
		case x.known:
			x.stale = fmt.Errorf("spool %s is gone; events after %d were in it: %w", s.spoolPath(id), x.facts.session.Head.Seq, store.ErrCorrupt)
			x.folded = true
			return x, s.look(ctx, x, from)
		}
		return nil, store.ErrNotFound
	}
}

// look asks the database for the facts and the first chunks of a session.
func (s *Store) look(ctx context.Context, x *source, from uint64) error {
	x.facts, x.known = projection{}, false
	err := s.view(ctx, x.path, func(m *month) (err error) {
		if x.facts, x.known, err = m.get(x.key); err != nil || !x.known || x.facts.deleted {
			return err
		}
		head := x.facts.session.Head
		if m.stale && !head.Sealed {
			x.stale = staleFile(x.path) // there may have been more
		}
		if from == 0 || x.facts.spooled != 0 && !x.folded {
			return nil
		}
		x.first, err = m.chunks(x.key, from, head.Seq)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// facts returns what the database at path says of a session.
func (s *Store) facts(ctx context.Context, path string, key [16]byte) (p projection, ok bool, err error) {
	err = s.view(ctx, path, func(m *month) (err error) {
		p, ok, err = m.get(key)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return p, ok, err
}

// unfolded returns where the database's part of a spooled session ends.
func (x *source) unfolded() mark {
	if !x.known {
		return spoolStart
	}
	return x.facts.mark()
}
