package boltstore

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/mcprec/mcprec/store"
)

// moved has a reader go on in the new file, if one has taken the place of the spool that
// it reads: from its beginning, because other things may be in it than were read.
func (s *Store) moved(ctx context.Context, x *source, r *spoolReader) (bool, error) {
	held, err1 := r.f.Stat()
	named, err2 := os.Stat(s.spoolPath(x.id))
	if err1 != nil || err2 != nil || os.SameFile(held, named) {
		return false, nil
	}
	f, err := s.openSpool(x.id, x.key)
	if errors.Is(err, fs.ErrNotExist) || isOdd(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	x.close()
	x.spool = f
	next := r.next
	*r = *newSpoolReader(f, spoolStart)
	for r.next < next {
		if _, ok, err := r.read(); !ok || err != nil {
			return true, err
		}
	}
	return true, ctx.Err()
}

// atEnd is at the end of what a recorder wrote that is gone, and reports whether to go on:
// in a new file, in the database if there was one and it is folded, or with the end.
func (s *Store) atEnd(ctx context.Context, x *source, r *spoolReader, from uint64, yield func(store.Event, error) bool) (on bool, err error) {
	if on, err := s.moved(ctx, x, r); on || err != nil {
		return on, err
	}
	if _, err := os.Stat(s.spoolPath(x.id)); errors.Is(err, fs.ErrNotExist) && !r.sealed {
		x.folded = true
		err := s.look(ctx, x, 0)
		if err == nil && x.known && !x.facts.deleted && x.facts.spooled == 0 && x.facts.session.Head.Seq >= r.next {
			return s.detour(ctx, x, r, from, yield)
		}
	}
	return true, r.finish()
}
