package boltstore

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"

	"github.com/mcprec/mcprec/store"
)

// Release removes a session whose recorder is dead, from the spools and from the database, and leaves no
// tombstone: the same session may come again, as after a pull that was interrupted. ErrLive while a recorder
// holds it. A damaged spool is kept under another name, which the error tells.
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
	if err := tx.removeChunks(key); err != nil {
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
