package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	bolt "go.etcd.io/bbolt"

	"github.com/mcprec/mcprec/store"
)

// verification checks files and reports faults.
type verification struct {
	*Store
	report func(error)
}

// all checks all files of the store.
func (v verification) all(ctx context.Context) error {
	for _, odd := range v.oddFiles() {
		v.report(odd)
	}
	paths, foreign, err := v.databasePaths()
	for _, fault := range foreign {
		v.report(fault)
	}
	files, err2 := v.files()
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	for _, path := range paths {
		if err := v.database(ctx, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			v.report(err)
		}
	}
	for _, f := range files {
		if f.ending != ".log" {
			continue
		}
		if err := v.spool(ctx, f.id); err != nil {
			v.report(err)
		}
	}
	return ctx.Err()
}

// database checks the projections and pages of a database at once and its chunks session by
// session, so that nobody waits long.
func (v verification) database(ctx context.Context, path string) error {
	var sessions []projection
	var faults []error
	others := 0
	err := v.view(ctx, path, func(tx *dbTx) error {
		if err := tx.checkCount(nil); err != nil {
			return err
		}
		if tx.stale {
			faults = append(faults, staleError(path))
		}
		c := tx.meta.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			p, err := decodeProjection([16]byte(k), v, path)
			if err != nil {
				faults = append(faults, err)
			} else if !belongsIn(path, k) {
				others++
			} else if !p.deleted {
				sessions = append(sessions, p)
			}
		}
		return nil
	})
	if others > 0 {
		faults = append(faults, misplacedError(path, others))
	}
	for _, fault := range faults {
		v.report(fault)
	}
	if err != nil {
		return err
	}
	for _, p := range sessions {
		if err := v.session(ctx, path, p); err != nil {
			v.report(fmt.Errorf("session %s: %w", p.session.ID, err))
		}
	}
	return v.withDB(ctx, path, bolt.Options{ReadOnly: true}, func(_ *bolt.DB, file *os.File) error {
		if err := checkTree(file); err != nil { // while nobody writes to it
			return damagedError(path, err.Error())
		}
		return nil
	})
}

// databaseFault returns all faults of a database.
func databaseFault(ctx context.Context, s *Store, path string) error {
	var faults []error
	v := verification{s, func(err error) { faults = append(faults, err) }}
	err := v.database(ctx, path)
	return errors.Join(append(faults, err)...)
}

// session compares the chunks of a session with its projection.
func (v verification) session(ctx context.Context, path string, want projection) error {
	key, err := want.session.ID.Bytes()
	if err != nil {
		return err
	}
	x := &source{store: v.Store, id: want.session.ID, key: key, path: path, projection: want}
	var got projection
	var fault error
	err = x.readChunks(ctx, 1, func(e store.Event, err error) bool {
		if e.Seq > want.session.Head.Seq { // it was written since
			return false
		}
		fault = got.take(key, e)
		return fault == nil
	})
	if err == nil {
		err = fault
	}
	have, stated := got.session, want.session
	if err == nil && (have.Head != stated.Head || have.Frames != stated.Frames || have.Bytes != stated.Bytes) {
		err = fmt.Errorf("its events do not make the head that the database states: %w", store.ErrCorrupt)
	}
	return err
}

// spool reads a spool to its end.
func (v verification) spool(ctx context.Context, id store.SessionID) error {
	key, err := id.Bytes()
	if err != nil {
		return err
	}
	f, err := v.openSpool(id, key)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	r := newSpoolReader(f, spoolStart)
	x := &source{store: v.Store, id: id, key: key, path: v.databasePath(key), spool: f}
	defer x.close()
	var p projection
	err = x.readSpool(ctx, r, 1, false, func(e store.Event, _ error) bool {
		err := p.take(key, e)
		if err != nil && r.damage == nil {
			r.damage = fmt.Errorf("spool %s: %w", r.path, err)
		}
		return err == nil
	})
	return errors.Join(err, r.damage)
}
