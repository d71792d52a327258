package boltstore

import (
	"bytes"
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
	compactStep   = 4 << 20 // copied in one transaction
	compactNames  = 1000    // sessions looked at in one transaction
	staleTempTime = time.Hour
	leastFree     = 32 << 10 // less is not worth a new file
)

// Compacted says what Compact made of one database.
type Compacted struct {
	Path          string
	Before, After int64 // the file's size; the same: there was nothing to give back
}

// Compact writes each database of which at least the share `least` is free anew, without
// its free pages, and gives the new file the name of the old one. What each holds is
// checked on the way; a damaged one stays as it is. Who dies on the way leaves the old
// file. Recorders, readers and folds go on meanwhile: a database is held, against writers
// only, for as long as it takes to catch up with what changed while it was copied.
func (s *Store) Compact(ctx context.Context, least float64, report func(Compacted)) error {
	if err := s.begin(ctx); err != nil {
		return fmt.Errorf("compact store: %w", err)
	}
	defer s.end()
	paths, faults, err := s.paths()
	if err != nil {
		return ignoreMissing(err)
	}
	if err := s.unlinked(); err != nil {
		return fmt.Errorf("compact store: %w", err)
	}
	unlock, err := s.lockFile(ctx, filepath.Join(s.storeDir(), "compact.lock"), true)
	if err != nil {
		return fmt.Errorf("compact store: %w", err)
	}
	defer unlock()
	s.sweepTemps()
	s.sweepRepairs(ctx)
	for _, path := range paths {
		if ctx.Err() != nil {
			break
		}
		c := &compaction{s: s, path: path}
		switch err := c.run(ctx, least); {
		case err == nil:
			report(Compacted{Path: path, Before: c.before, After: c.after})
		case !errors.Is(err, fs.ErrNotExist):
			faults = append(faults, fmt.Errorf("compact %s: %w", path, err))
		}
	}
	return errors.Join(errors.Join(faults...), ctx.Err())
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
			_ = d.machine.remove(filepath.Join(d.storeDir(), e.Name()))
		}
	}
}

// compaction is the copying of one database.
type compaction struct {
	s             *Store
	path          string
	temp          string
	info          fs.FileInfo // of the file that is copied
	before, after int64
}

// run copies the database and exchanges the files, if the new one is smaller.
func (c *compaction) run(ctx context.Context, least float64) error {
	free, err := c.look(ctx)
	if err != nil || free < leastFree || float64(free) < least*float64(c.before) {
		return err
	}
	if c.temp, err = c.s.emptyMonth(c.path + ".compact"); err != nil {
		return err
	}
	defer func() { _ = c.s.machine.remove(c.temp) }()
	if err := c.copy(ctx); err != nil {
		return err
	}
	var fault error
	if err := c.s.verifyMonth(ctx, c.temp, func(err error) { fault = errors.Join(fault, err) }); err != nil || fault != nil {
		return errors.Join(err, fault)
	}
	return c.s.withDB(ctx, c.path, bolt.Options{ReadOnly: true}, func(db *bolt.DB, file *os.File) error {
		if info, err := file.Stat(); err != nil || !os.SameFile(info, c.info) {
			return errors.Join(err, store.ErrBusy)
		}
		return db.View(func(tx *bolt.Tx) error {
			return inMonth(tx, file, &month{path: c.path}, func(m *month) error {
				if err := c.catchUp(ctx, m); err != nil {
					return err
				}
				return c.exchange()
			})
		})
	})
}

// look returns how many bytes the database would give back.
func (c *compaction) look(ctx context.Context) (free int64, err error) {
	if c.info, err = os.Lstat(c.path); err != nil {
		return 0, err
	}
	err = c.s.view(ctx, c.path, func(m *month) error {
		if m.stale {
			return staleFile(c.path)
		}
		used, err := m.used()
		free = c.info.Size() - used
		return err
	})
	c.before, c.after = c.info.Size(), c.info.Size()
	return max(free, 0), err
}

// used returns how many bytes of the file are in use.
func (m *month) used() (int64, error) {
	clear(m.tree.seen)
	if err := m.tree.freelist(m.tree.free); err != nil {
		return 0, damagedFile(m.path, err.Error())
	}
	return int64((m.tree.pages - uint64(len(m.tree.seen))) * m.tree.pageSize), nil
}

// copied is a stretch of a session on its way to the new file.
type copied struct {
	key    [16]byte
	facts  []byte // as they stand in the database
	chunks []chunk
}

// copy takes over all sessions, some at a time, so that the old file is held for a few
// milliseconds only.
func (c *compaction) copy(ctx context.Context) error {
	at := reading{}
	for !at.end {
		var batch []copied
		err := c.s.view(ctx, c.path, func(m *month) (err error) {
			batch, err = at.next(m)
			return err
		})
		if err != nil {
			return err
		}
		if info, err := os.Lstat(c.path); err != nil || !os.SameFile(info, c.info) {
			return errors.Join(err, fmt.Errorf("another process put a new file in its place: %w", store.ErrBusy))
		}
		if err := c.put(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

func (c *compaction) put(ctx context.Context, batch []copied) error {
	return c.s.update(ctx, c.temp, func(m *month) error {
		for _, x := range batch {
			for _, chunk := range x.chunks {
				if err := errors.Join(m.putBodies(x.key, chunk.bodies), m.ev.Put(chunk.key[:], chunk.data)); err != nil {
					return err
				}
			}
			if err := m.putFacts(x.key, x.facts); err != nil {
				return err
			}
		}
		return nil
	})
}

// reading is how far the copying is.
type reading struct {
	key  []byte // of the session being copied
	from uint64 // its next event; 0: the session is done
	end  bool
}

// next returns what follows, up to compactStep bytes but at least something.
func (r *reading) next(m *month) (batch []copied, err error) {
	if err := m.readable(bucketMeta, r.key, after(nil)); err != nil {
		return nil, err
	}
	cursor := m.meta.Cursor()
	k, v := cursor.Seek(r.key)
	if r.from == 0 && bytes.Equal(k, r.key) && k != nil {
		k, v = cursor.Next()
	}
	for size := 0; size < compactStep && len(batch) < compactNames; k, v = cursor.Next() {
		if r.end = k == nil; r.end {
			break
		}
		if len(k) != 16 {
			return nil, damagedFile(m.path, "a session's key")
		}
		x := copied{key: [16]byte(k), facts: bytes.Clone(v)}
		p, err := decodeProjection(x.key, v, m.path)
		if err != nil {
			return nil, err
		}
		if p.deleted {
			p.session.Head.Seq = 0
		}
		r.key = bytes.Clone(k)
		for r.from = max(r.from, 1); r.from <= p.session.Head.Seq && size < compactStep; {
			chunks, err := m.chunks(x.key, r.from, p.session.Head.Seq)
			if err != nil {
				return nil, err
			}
			for _, c := range chunks {
				size += len(c.data)
				for _, x := range c.bodies {
					size += len(x.value)
				}
				r.from = c.last() + 1
			}
			x.chunks = append(x.chunks, chunks...)
		}
		batch = append(batch, x)
		if r.from <= p.session.Head.Seq {
			break
		}
		r.from = 0
	}
	return batch, nil
}

// catchUp takes over what changed since it was copied, while nobody can write.
func (c *compaction) catchUp(ctx context.Context, m *month) error {
	if err := m.readable(bucketMeta, nil, after(nil)); err != nil {
		return err
	}
	var changed [][16]byte
	err := c.s.update(ctx, c.temp, func(to *month) error {
		cursor := m.meta.Cursor()
		for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
			if len(k) != 16 {
				return damagedFile(m.path, "a session's key")
			}
			if bytes.Equal(to.meta.Get(k), v) {
				continue
			}
			changed = append(changed, [16]byte(k))
			if err := to.removeChunks([16]byte(k)); err != nil {
				return err
			}
		}
		return nil
	})
	for _, key := range changed {
		at := reading{key: key[:], from: 1}
		for err == nil && at.from > 0 && bytes.Equal(at.key, key[:]) {
			var batch []copied
			if batch, err = at.next(m); err == nil {
				err = c.put(ctx, batch[:1])
			}
		}
	}
	if err != nil {
		return err
	}
	return c.s.update(ctx, c.temp, func(to *month) error {
		n, keys, err := m.count()
		copies, copiedKeys, err2 := to.count()
		if err = errors.Join(err, err2); err == nil && (n != copies || keys != copiedKeys) {
			err = fmt.Errorf("of %d sessions, %d copied", n, copies)
		}
		return err
	})
}

// exchange gives the new file the name of the old one.
func (c *compaction) exchange() error {
	f, err := os.OpenFile(c.temp, os.O_RDWR, 0)
	if err != nil {
		return err
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
	if err = errors.Join(err, statErr); err != nil || info.Size() >= c.before {
		return err
	}
	if err := c.s.machine.rename(c.temp, c.path, true); err != nil {
		return err
	}
	c.after = info.Size()
	return c.s.machine.syncDir(c.s.storeDir())
}
