package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"slices"

	"github.com/mcprec/mcprec/store"
)

var bucketSummary = []byte("summary")

// summaryStep is the number of summaries that a transaction keeps.
const summaryStep = 1000

// KeepSummaries keeps summaries, each for the session with exactly this head. Summaries of other
// sessions are left out: they are gone, or went on.
func (s *Store) KeepSummaries(ctx context.Context, list []store.Summary) error {
	return s.call(ctx, "keep summaries", func(ctx context.Context) error {
		for path, list := range inDatabases(s.databases, list, func(x store.Summary) store.SessionID { return x.ID }) {
			if _, err := regular(path); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			for batch := range slices.Chunk(list, summaryStep) {
				err := s.update(ctx, path, func(tx *dbTx) error {
					for _, x := range batch {
						if err := tx.putSummary(x); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Summaries returns the kept summaries of listed sessions.
func (s *Store) Summaries(ctx context.Context, sessions []store.Session) (found map[store.SessionID][]byte, err error) {
	found = make(map[store.SessionID][]byte, len(sessions))
	err = s.call(ctx, "read summaries", func(ctx context.Context) error {
		var faults []error
		for path, list := range inDatabases(s.databases, sessions, func(x store.Session) store.SessionID { return x.ID }) {
			err := s.view(ctx, path, func(tx *dbTx) error { return tx.summaries(list, found) })
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				faults = append(faults, err)
			}
		}
		return errors.Join(faults...)
	})
	return found, err
}

// inDatabases groups a list by the path of the sessions' databases. Elements without a valid id
// are left out.
func inDatabases[T any](d databases, list []T, id func(T) store.SessionID) map[string][]T {
	groups := map[string][]T{}
	for _, x := range list {
		if key, err := id(x).Bytes(); err == nil {
			path := d.databasePath(key)
			groups[path] = append(groups[path], x)
		}
	}
	return groups
}

// putSummary keeps the summary of a session.
func (tx *dbTx) putSummary(x store.Summary) error {
	key, err := x.ID.Bytes()
	if err != nil {
		return err
	}
	p, known, err := tx.projection(key)
	if err != nil || !known || p.deleted || p.session.Head != x.Head {
		return err
	}
	b, err := tx.boltTx.CreateBucketIfNotExists(bucketSummary)
	if err != nil {
		return err
	}
	value := binary.LittleEndian.AppendUint32(nil, summarySum(key, x.Head, x.Data))
	return b.Put(key[:], append(value, x.Data...))
}

// summaries adds the summaries of sessions to found.
func (tx *dbTx) summaries(sessions []store.Session, found map[store.SessionID][]byte) error {
	b := tx.boltTx.Bucket(bucketSummary)
	if b == nil {
		return nil
	}
	if err := tx.readable(bucketSummary, nil, after(nil)); err != nil {
		return err
	}
	for _, x := range sessions {
		key, _ := x.ID.Bytes() // as in inDatabases
		v := b.Get(key[:])
		if len(v) >= 4 && binary.LittleEndian.Uint32(v) == summarySum(key, x.Head, v[4:]) {
			found[x.ID] = bytes.Clone(v[4:])
		}
	}
	return nil
}

// copySummary copies the summary of a session from another database.
func (tx *dbTx) copySummary(from *dbTx, key [16]byte) error {
	old := from.boltTx.Bucket(bucketSummary)
	if old == nil || from.readable(bucketSummary, key[:], key[:]) != nil {
		return nil // a reader makes it anew
	}
	v := old.Get(key[:])
	if v == nil {
		return nil
	}
	b, err := tx.boltTx.CreateBucketIfNotExists(bucketSummary)
	if err != nil {
		return err
	}
	b.FillPercent = 1
	return b.Put(key[:], v)
}

// addSummaries adds the bytes of summaries to the sessions.
func (tx *dbTx) addSummaries(u *store.Usage) error {
	b := tx.boltTx.Bucket(bucketSummary)
	if b == nil {
		return nil
	}
	if err := tx.readable(bucketSummary, nil, after(nil)); err != nil {
		return err
	}
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if len(k) == 16 {
			u.Stored[sessionID([16]byte(k))] += int64(len(k) + len(v))
		}
	}
	return nil
}

// removeSummary removes the summary of a session, if there is one.
func (tx *dbTx) removeSummary(key [16]byte) error {
	if b := tx.boltTx.Bucket(bucketSummary); b != nil {
		return b.Delete(key[:])
	}
	return nil
}

// summarySum is the checksum of a summary. The chain is in it: the summary of other events does
// not fit.
func summarySum(key [16]byte, head store.Head, data []byte) uint32 {
	sum := crc32.Update(crc32.Checksum(key[:], castagnoli), castagnoli, head.Chain[:])
	return crc32.Update(sum, castagnoli, data)
}
