package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/mcprec/mcprec/store"
)

// Usage says what a store takes on the disk.
type Usage struct {
	Databases []DatabaseUsage
	Spools    FileUsage // of live sessions, and of those that are not folded yet
	Damaged   FileUsage // databases and spools that were kept because they are damaged
	// Stored is what each session takes for itself, by an estimate that is close to what
	// compacting gives back when it goes.
	Stored map[store.SessionID]int64
}

// FileUsage counts files.
type FileUsage struct {
	Files int
	Bytes int64
}

// DatabaseUsage is what one database takes.
type DatabaseUsage struct {
	Path     string
	Bytes    int64 // of the file
	Free     int64 // of them, which compact gives back
	Sessions int
	Deleted  int // sessions of which only a tombstone is left
	Chunks   FileUsage
}

// Size returns how many bytes the databases and the spools take.
func (u Usage) Size() int64 {
	size := u.Spools.Bytes
	for _, d := range u.Databases {
		size += d.Bytes
	}
	return size
}

// Usage counts what the store takes. It reads no payload. What of the store cannot be
// read is in the error, and the rest is counted.
func (s *Store) Usage(ctx context.Context) (Usage, error) {
	u := Usage{Stored: map[store.SessionID]int64{}}
	if err := s.begin(ctx); err != nil {
		return u, fmt.Errorf("usage of store: %w", err)
	}
	defer s.end()
	faults := []error{s.spoolUsage(&u)}
	paths, foreign, err := s.databases()
	faults = append(append(faults, foreign...), ignoreMissing(err))
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		d := DatabaseUsage{Path: path, Bytes: info.Size()}
		if err := s.monthUsage(ctx, &u, &d); err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, err)
		}
		u.Databases = append(u.Databases, d)
	}
	entries, err := os.ReadDir(s.storeDir())
	faults = append(faults, ignoreMissing(err))
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.Contains(e.Name(), ".damaged") {
			u.Damaged.add(info.Size())
		}
	}
	return u, errors.Join(errors.Join(faults...), ctx.Err())
}

func (f *FileUsage) add(n int64) {
	f.Files++
	f.Bytes += n
}

// spoolUsage counts spools by the sizes of their files.
func (s *Store) spoolUsage(u *Usage) error {
	entries, err := os.ReadDir(s.spoolDir())
	if err != nil {
		return ignoreMissing(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // folded in between
		}
		name, end, _ := strings.Cut(e.Name(), ".")
		switch id, err := store.ParseSessionID(name); {
		case err != nil, !info.Mode().IsRegular():
		case end == "log":
			u.Spools.add(info.Size())
			u.Stored[id] += info.Size()
		case end == "damaged", end == "renewed":
			u.Damaged.add(info.Size())
			u.Stored[id] += info.Size() // it goes with its session
		}
	}
	return nil
}

// monthUsage counts what is in one database by the keys and the lengths of values.
func (s *Store) monthUsage(ctx context.Context, u *Usage, d *DatabaseUsage) error {
	return s.view(ctx, d.Path, func(m *month) error {
		used, err := m.used()
		if err != nil {
			return err
		}
		d.Free = max(d.Bytes-used, 0)
		if err := m.recount(nil); err != nil {
			return err
		}
		c := m.meta.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if len(v) > 5 && v[5]&metaDeleted != 0 {
				d.Deleted++
				continue
			}
			d.Sessions++
			u.Stored[idOf([16]byte(k))] += int64(len(k) + len(v))
		}
		if err := m.readable(bucketEv, nil, after(nil)); err != nil {
			return err
		}
		c = m.ev.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if len(k) != len(key{}) {
				return damagedFile(m.path, "the key of a chunk")
			}
			d.Chunks.add(int64(len(v)))
			u.Stored[idOf([16]byte(k[:16]))] += int64(len(k) + len(v))
		}
		return m.addBodies(u)
	})
}
