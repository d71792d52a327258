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

	"github.com/mcprec/mcprec/store"
)

const (
	compactStep   = 4 << 20 // bytes copied in one transaction
	staleTempTime = time.Hour
	leastFree     = 32 << 10 // less free space is not worth a new file
)

// compaction is one call of Compact.
type compaction struct {
	*Store
	least  float64
	report func(store.Compacted)
	faults []error // of databases that stay as they are
}

// all compacts the databases, one after the other.
func (c *compaction) all(ctx context.Context) error {
	paths, faults, err := c.databasePaths()
	if err == nil {
		err = c.refuseLinks()
	}
	if err != nil {
		return err
	}
	unlock, err := c.lockFile(ctx, filepath.Join(c.storeDir(), "compact.lock"), true)
	if err != nil {
		return err
	}
	defer unlock()
	// Nobody else uses a compaction's files while its lock is held here. Others may be in use
	// unless they are old.
	c.sweep("*.db.compact.new-*", 0)
	c.sweep("*.db.new-*", staleTempTime)
	sweepRepairs(ctx, c.Store)
	for _, path := range paths {
		if ctx.Err() != nil {
			break
		}
		switch done, err := c.database(ctx, path); {
		case err == nil:
			c.report(done)
		case !errors.Is(err, fs.ErrNotExist):
			faults = append(faults, fmt.Errorf("compact %s: %w", path, err))
		}
	}
	c.faults = append(faults, ctx.Err())
	return nil
}

// mostCopies is how often a database is copied that others write to before the files are exchanged.
const mostCopies = 3

// errWrittenMeanwhile: the database is not what was copied.
var errWrittenMeanwhile = fmt.Errorf("another process wrote to it while it was copied: %w", store.ErrBusy)

// database compacts a database, if that makes it smaller.
func (c *compaction) database(ctx context.Context, path string) (done store.Compacted, err error) {
	for range mostCopies {
		done, err = c.copyAndExchange(ctx, path)
		if !errors.Is(err, errWrittenMeanwhile) {
			break
		}
	}
	return done, err
}

// copyAndExchange copies a database and exchanges the files, if the new one is smaller. Who would
// write to the old one waits for its lock meanwhile; but where only closed files can be
// exchanged, the lock ends before the exchange.
func (c *compaction) copyAndExchange(ctx context.Context, path string) (done store.Compacted, err error) {
	var temp string
	var copied [2]metaBytes
	err = c.withDB(ctx, path, bolt.Options{ReadOnly: true}, func(db *bolt.DB, file *os.File) error {
		info, err := file.Stat()
		if err != nil {
			return err
		}
		done = store.Compacted{Path: path, Before: info.Size(), After: info.Size()}
		return db.View(func(tx *bolt.Tx) error {
			return inTx(tx, file, &dbTx{path: path}, func(tx *dbTx) error {
				if tx.stale {
					return staleError(path)
				}
				used, err := tx.used()
				free := done.Before - used
				if err != nil || free < leastFree || float64(free) < c.least*float64(done.Before) {
					return err
				}
				if err := databaseFault(ctx, c.Store, path); err != nil {
					return err
				}
				if temp, err = c.newDatabase(path+".compact", db); err != nil {
					return err
				}
				if err := c.view(ctx, temp, func(to *dbTx) error { return to.checkCount(nil) }); err != nil {
					return err
				}
				if copied, _, err = readMetas(file); err != nil || c.replaceNeedsClosed {
					return err
				}
				done.After, err = c.exchange(temp, path, done.Before)
				return err
			})
		})
	})
	if temp == "" {
		return done, err
	}
	defer func() { _ = c.disk.remove(temp) }()
	if err == nil && c.replaceNeedsClosed {
		done.After, err = c.exchangeClosed(ctx, temp, path, copied, done.Before)
	}
	return done, err
}

// exchangeClosed exchanges the files while nobody has the old one open, unless that has had a
// transaction since it was copied.
func (c *compaction) exchangeClosed(ctx context.Context, temp, path string, copied [2]metaBytes, before int64) (after int64, err error) {
	release, err := c.holdNames(ctx, true)
	if err != nil {
		return before, err
	}
	defer release()
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return before, err
	}
	metas, _, err := readMetas(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return before, err
	}
	if metas != copied {
		return before, errWrittenMeanwhile
	}
	return c.exchange(temp, path, before)
}

// exchange replaces the old file by the new one, if that is smaller, and returns its size.
func (c *compaction) exchange(temp, path string, before int64) (after int64, err error) {
	f, err := os.OpenFile(temp, os.O_RDWR, 0)
	if err != nil {
		return before, err
	}
	t, err := openTree(f)
	if err == nil { // bbolt leaves room at the end
		err = f.Truncate(int64(t.pages * t.pageSize))
	}
	if err == nil {
		err = f.Sync()
	}
	info, statErr := f.Stat()
	err = errors.Join(err, statErr, f.Close())
	if err != nil || info.Size() >= before {
		return before, err
	}
	if err := c.disk.rename(temp, path, true); err != nil {
		return before, err
	}
	return info.Size(), c.disk.syncDir(c.storeDir())
}

// addUsage counts what is in one database by the keys and the lengths of values.
func addUsage(ctx context.Context, databases databases, path string, usage *store.Usage) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // it is gone
	}
	x := store.DatabaseUsage{Path: path, Bytes: info.Size()}
	defer func() { usage.Databases = append(usage.Databases, x) }()
	return databases.view(ctx, path, func(tx *dbTx) error {
		used, err := tx.used()
		if err != nil {
			return err
		}
		x.Free = max(x.Bytes-used, 0)
		if err := tx.checkCount(nil); err != nil {
			return err
		}
		c := tx.meta.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if len(v) > 5 && v[5]&metaDeleted != 0 {
				x.Deleted++
				continue
			}
			x.Sessions++
			usage.Stored[sessionID([16]byte(k))] += int64(len(k) + len(v))
		}
		if err := tx.readable(bucketEv, nil, after(nil)); err != nil {
			return err
		}
		c = tx.ev.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if len(k) != len(key{}) {
				return damagedError(tx.path, "the key of a chunk")
			}
			x.Chunks.Add(int64(len(v)))
			usage.Stored[sessionID([16]byte(k[:16]))] += int64(len(k) + len(v))
		}
		return nil
	})
}
