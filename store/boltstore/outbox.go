package boltstore

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/mcprec/mcprec/store"
)

// An outbox is a store whose sessions go to another store and leave then; see Options.Outbox. Its
// sessions are in spools, or in databases if a program without that option has folded them.

// maxShippedState is the largest file of KeepShippedState.
const maxShippedState = 1 << 20

// Waiting lists the sessions of an outbox by id, without reading them. The error names the
// unreadable parts; the rest is listed.
func (s *Store) Waiting(ctx context.Context) (list []store.SpoolInfo, err error) {
	err = s.call(ctx, "list outbox", func(ctx context.Context) error {
		files, err := s.files()
		faults := []error{err}
		l := &listing{store: s, spooled: map[store.SessionID]bool{}}
		for _, f := range files {
			info, err := os.Lstat(f.path)
			if f.ending != ".log" || err != nil {
				continue
			}
			live, err := s.live(f.id)
			faults = append(faults, err)
			list = append(list, store.SpoolInfo{ID: f.id, Bytes: info.Size(), Live: live})
			l.spooled[f.id] = true
		}
		paths, foreign, err := s.databasePaths()
		faults = append(append(faults, foreign...), err)
		for _, path := range paths {
			if err := l.database(ctx, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				faults = append(faults, err)
			}
		}
		for _, x := range l.found {
			list = append(list, store.SpoolInfo{ID: x.ID, Bytes: int64(x.Bytes)})
		}
		return errors.Join(append(faults, l.faults...)...)
	})
	slices.SortFunc(list, func(a, b store.SpoolInfo) int { return cmp.Compare(a.ID, b.ID) })
	return list, err
}

// Release removes a session whose recorder is dead, from the spools and from the database, and
// leaves no tombstone. ErrLive while a recorder holds it. A damaged spool is kept under another
// name, which the error tells.
func (s *Store) Release(ctx context.Context, id store.SessionID) error {
	return s.call(ctx, fmt.Sprintf("release session %s", id), func(ctx context.Context) error {
		key, err := id.Bytes()
		if err != nil {
			return err
		}
		id := sessionID(key)
		if _, err := s.makeFolders(); err != nil { // for the lock
			return err
		}
		release, err := s.holdDead(ctx, id, true)
		if err != nil {
			return err
		}
		defer release()
		forgotten, err := s.forget(ctx, key)
		if err != nil {
			return err
		}
		// Without this file the session would be shipped again, which does no harm. Without the spool
		// the file would stay for ever.
		if err := s.disk.remove(s.spoolFile(id, shippedEnding)); err != nil {
			return err
		}
		if _, err := regular(s.spoolPath(id)); errors.Is(err, fs.ErrNotExist) {
			if !forgotten {
				return store.ErrNotFound
			}
			return nil
		} else if err != nil {
			return err
		}
		damage := s.damageOf(id, key)
		if damage != nil && !errors.Is(damage, store.ErrCorrupt) {
			return damage
		}
		err = s.removeSpool(id, damage)
		_ = s.disk.remove(s.lockPath(id))
		return err
	})
}

// forget removes a session from its database as if it had never been there, and reports whether it
// was there.
func (s *Store) forget(ctx context.Context, key [16]byte) (found bool, err error) {
	path := s.databasePath(key)
	if p, known, err := s.projection(ctx, path, key); err != nil || !known || p.deleted {
		return false, err
	}
	return true, s.update(ctx, path, func(tx *dbTx) error { return tx.forget(key) })
}

// forget removes a session without a tombstone.
func (tx *dbTx) forget(key [16]byte) error {
	if p, ok, err := tx.projection(key); err != nil || !ok || p.deleted {
		return err
	}
	if err := errors.Join(tx.removeChunks(key), tx.removeSummary(key)); err != nil {
		return err
	}
	n, keys, err := tx.statedCount()
	if err != nil {
		return err
	}
	subtle.XORBytes(keys[:], keys[:], key[:])
	if err := tx.head.Put(keyHead, encodeCount(n-1, keys)); err != nil {
		return err
	}
	return tx.meta.Delete(key[:])
}

// damageOf reads a dead spool to its end and returns its damage.
func (s *Store) damageOf(id store.SessionID, key [16]byte) error {
	f, err := s.openSpool(id, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // its recorder died before the first record
	} else if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	r := newSpoolReader(f, spoolStart)
	r.reuse = true
	for {
		_, ok, err := r.read()
		switch {
		case err != nil:
			return err
		case ok:
		case r.ended:
			return r.damage
		default:
			if err := r.end(); err != nil {
				return err
			}
		}
	}
}

const shippedEnding = ".shipped"

// KeepShippedState keeps a few bytes beside the spool of a session, for the shipping of the outbox, in
// the place of earlier ones. They are durable on return, and go with the session.
func (s *Store) KeepShippedState(id store.SessionID, data []byte) error {
	return s.call(context.Background(), fmt.Sprintf("keep shipped state of session %s", id), func(context.Context) error {
		path, err := s.shippedPath(id)
		if err != nil {
			return err
		}
		if len(data) > maxShippedState {
			return fmt.Errorf("%d bytes, and %d is the most", len(data), maxShippedState)
		}
		temp := path + ".new"
		if err := s.disk.remove(temp); err != nil { // of a process that died here
			return err
		}
		f, err := s.disk.create(temp)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		err = errors.Join(err, f.Sync(), f.Close())
		if err == nil {
			err = s.disk.rename(temp, path, true)
		}
		if err != nil {
			_ = s.disk.remove(temp)
		}
		return err
	})
}

// ShippedState returns the bytes of the last KeepShippedState; nil: there are none.
func (s *Store) ShippedState(id store.SessionID) (data []byte, err error) {
	err = s.call(context.Background(), fmt.Sprintf("shipped state of session %s", id), func(context.Context) error {
		path, err := s.shippedPath(id)
		if err != nil {
			return err
		}
		f, err := openRegular(path, os.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(f, maxShippedState))
		return err
	})
	return data, err
}

func (s *Store) shippedPath(id store.SessionID) (string, error) {
	key, err := id.Bytes()
	if err != nil {
		return "", err
	}
	return s.spoolFile(sessionID(key), shippedEnding), nil
}
