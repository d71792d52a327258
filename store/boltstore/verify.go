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

// verifyDatabase checks the facts and pages of a database at once, and its chunks
// session by session, so that nobody waits for long.
func (d databases) verifyDatabase(ctx context.Context, path string, report func(error)) error {
	var sessions []projection
	var faults []error
	others := 0
	err := d.view(ctx, path, func(m *dbTx) error {
		if err := m.checkCount(nil); err != nil {
			return err
		}
		if m.stale {
			faults = append(faults, staleError(path))
		}
		c := m.meta.Cursor()
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
		report(fault)
	}
	if err != nil {
		return err
	}
	for _, p := range sessions {
		if err := d.verifySession(ctx, path, p); err != nil {
			report(fmt.Errorf("session %s: %w", p.session.ID, err))
		}
	}
	return d.withDB(ctx, path, bolt.Options{ReadOnly: true}, func(_ *bolt.DB, file *os.File) error {
		if err := checkTree(file); err != nil { // while nobody writes to it
			return damagedError(path, err.Error())
		}
		return nil
	})
}

// verifySession holds the chunks of a session against its facts.
func (d databases) verifySession(ctx context.Context, path string, want projection) error {
	key, err := want.session.ID.Bytes()
	if err != nil {
		return err
	}
	x := &source{db: d, id: want.session.ID, key: key, path: path, projection: want}
	var got projection
	var fault error
	err = x.readChunks(ctx, 1, func(e store.Event, err error) bool {
		if e.Seq > want.session.Head.Seq { // written since
			return false
		}
		fault = got.take(key, e)
		return fault == nil
	})
	if err == nil {
		err = fault
	}
	if err == nil && (got.session.Head != want.session.Head || got.session.Frames != want.session.Frames || got.session.Bytes != want.session.Bytes) {
		err = fmt.Errorf("its events do not make the head that the database states: %w", store.ErrCorrupt)
	}
	return err
}

// verifySpool reads a spool to its end.
func (s *Store) verifySpool(ctx context.Context, id store.SessionID) error {
	key, err := id.Bytes()
	if err != nil {
		return err
	}
	f, err := s.openSpool(id, key)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	r := newSpoolReader(f, spoolStart)
	x := &source{db: s.databases, id: id, key: key, path: s.databasePath(key), spool: f}
	defer x.close()
	var p projection
	err = s.readSpool(ctx, x, r, 1, store.ReadOptions{}, func(e store.Event, _ error) bool {
		err := p.take(key, e)
		if err != nil && r.damage == nil {
			r.damage = fmt.Errorf("spool %s: %w", r.path, err)
		}
		return err == nil
	})
	return errors.Join(err, r.damage)
}
