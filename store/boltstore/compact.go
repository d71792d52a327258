package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	compactStep   = 4 << 20 // copied in one transaction
	staleTempTime = time.Hour
	leastFree     = 32 << 10 // less is not worth a new file
)

// Compacted says what Compact made of one database.
type Compacted struct {
	Path          string
	Before, After int64 // the file's size; the same: there was nothing to give back
}

// sweepTemps removes what those left who died while they made a database. The files of
// a compaction are nobody's while its lock is held here; others may be somebody's, unless
// they are old.
func (d databases) sweepTemps() {
	d.sweep(func(name string, info fs.FileInfo) bool {
		mine, _ := filepath.Match("*.db.compact.new-*", name)
		other, _ := filepath.Match("*.db.new-*", name)
		return mine || other && time.Since(info.ModTime()) > staleTempTime
	})
}

// sweepRepairs removes what repairs left that died: nobody else makes such files while
// the lock of the folders is held here. Who finds it taken leaves them.
func (s *Store) sweepRepairs(ctx context.Context) {
	if unlock, err := s.lockFold(ctx, false); err == nil && unlock != nil {
		defer unlock()
		s.sweep(func(name string, _ fs.FileInfo) bool {
			mine, _ := filepath.Match("*.db.repair.new-*", name)
			return mine
		})
	}
}

func (d databases) sweep(left func(name string, info fs.FileInfo) bool) {
	entries, _ := os.ReadDir(d.storeDir())
	for _, e := range entries {
		if info, err := e.Info(); err == nil && left(e.Name(), info) {
			_ = d.disk.remove(filepath.Join(d.storeDir(), e.Name()))
		}
	}
}

// compact copies a database and exchanges the files, if the new one is smaller.
func (s *Store) compact(ctx context.Context, path string, least float64) (c Compacted, err error) {
	err = s.withDB(ctx, path, bolt.Options{ReadOnly: true}, func(db *bolt.DB, file *os.File) error {
		info, err := file.Stat()
		if err != nil {
			return err
		}
		c = Compacted{Path: path, Before: info.Size(), After: info.Size()}
		return db.View(func(tx *bolt.Tx) error {
			return inTx(tx, file, &dbTx{path: path}, func(m *dbTx) error {
				if m.stale {
					return staleError(path)
				}
				used, err := m.used()
				if free := c.Before - used; err != nil || free < leastFree || float64(free) < least*float64(c.Before) {
					return err
				}
				temp, err := s.emptyDatabase(path + ".compact")
				if err != nil {
					return err
				}
				defer func() { _ = s.disk.remove(temp) }()
				if err := s.copyMonth(ctx, m, temp); err != nil {
					return err
				}
				var fault error
				if err := s.verifyDatabase(ctx, temp, func(err error) { fault = errors.Join(fault, err) }); err != nil || fault != nil {
					return errors.Join(err, fault)
				}
				c.After, err = s.exchange(temp, path, c.Before)
				return err
			})
		})
	})
	return c, err
}

// copyMonth copies all sessions into an empty database, some at a time.
func (s *Store) copyMonth(ctx context.Context, m *dbTx, temp string) error {
	if err := m.readable(bucketMeta, nil, after(nil)); err != nil {
		return err
	}
	cursor := m.meta.Cursor()
	k, facts := cursor.First()
	for from := uint64(1); k != nil; {
		err := s.update(ctx, temp, func(to *dbTx) error {
			for size := 0; k != nil && size < compactStep; {
				if len(k) != 16 {
					return damagedError(m.path, "a session's key")
				}
				id := [16]byte(k)
				p, err := decodeProjection(id, facts, m.path)
				if err != nil {
					return err
				}
				if !p.deleted && from <= p.session.Head.Seq {
					chunks, err := m.chunks(id, from, p.session.Head.Seq)
					if err != nil {
						return err
					}
					for _, x := range chunks {
						if err := errors.Join(to.putBodies(id, x.bodies), to.ev.Put(x.key[:], x.data)); err != nil {
							return err
						}
						from = x.last() + 1
						size += len(x.data)
					}
					continue
				}
				if err := to.putEncoded(id, facts); err != nil {
					return err
				}
				size += len(facts)
				k, facts = cursor.Next()
				from = 1
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	want, wantKeys, err := m.statedCount()
	if err != nil {
		return err
	}
	return s.view(ctx, temp, func(to *dbTx) error {
		n, keys, err := to.statedCount()
		if err == nil && (n != want || keys != wantKeys) {
			err = fmt.Errorf("of %d sessions, %d copied", want, n)
		}
		return err
	})
}

// exchange gives the new file the name of the old one, if it is smaller, and returns its size.
func (s *Store) exchange(temp, path string, before int64) (after int64, err error) {
	f, err := os.OpenFile(temp, os.O_RDWR, 0)
	if err != nil {
		return before, err
	}
	defer func() { _ = f.Close() }()
	t, err := openTree(f)
	if err == nil { // bbolt makes its files larger than they need be
		err = f.Truncate(int64(t.pages * t.pageSize))
	}
	if err == nil {
		err = f.Sync()
	}
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr); err != nil || info.Size() >= before {
		return before, err
	}
	if err := s.disk.rename(temp, path, true); err != nil {
		return before, err
	}
	return info.Size(), s.disk.syncDir(s.storeDir())
}
