package boltstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/store"
)

// listing collects sessions, first from spools and then from one database after the other.
type listing struct {
	store   *Store
	query   store.Query
	spooled map[store.SessionID]bool // listed from their spools
	found   []store.Session
	indexed int // number of sessions found in databases of months
	faults  []error
}

func (l *listing) collect(ctx context.Context) {
	l.spools(ctx)
	for _, path := range l.databases() {
		if name := filepath.Base(path); l.query.Limit > 0 && l.indexed >= l.query.Limit && name != "other.db" {
			break // its sessions all come later
		}
		if err := l.database(ctx, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.faults = append(l.faults, err)
		}
	}
	slices.SortFunc(l.found, func(a, b store.Session) int {
		c := cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID))
		if l.query.Newest {
			return -c
		}
		return c
	})
	if l.query.Limit > 0 && len(l.found) > l.query.Limit {
		l.found = l.found[:l.query.Limit]
	}
}

// databases returns the paths of the databases in the order of the query. other.db comes
// first, because its sessions may be of any time.
func (l *listing) databases() []string {
	paths, foreign, err := l.store.databasePaths()
	l.faults = append(l.faults, foreign...)
	if err != nil {
		l.faults = append(l.faults, err)
	}
	slices.SortFunc(paths, func(a, b string) int {
		switch a, b := filepath.Base(a), filepath.Base(b); {
		case a == "other.db":
			return -1
		case b == "other.db":
			return 1
		case l.query.Newest:
			return cmp.Compare(b, a)
		}
		return cmp.Compare(a, b)
	})
	return paths
}

// spools lists the sessions of which at least a part is only in a spool.
func (l *listing) spools(ctx context.Context) {
	files, err := l.store.files()
	if err != nil {
		l.faults = append(l.faults, err)
	}
	for _, f := range files {
		if f.ending != ".log" || !strings.HasPrefix(string(f.id), l.query.Prefix) {
			continue
		}
		session, err := l.spooledSession(ctx, f.id)
		switch {
		case errors.Is(err, store.ErrNotFound): // folded or deleted since
		case err != nil:
			l.faults = append(l.faults, fmt.Errorf("session %s: %w", f.id, err))
			l.spooled[f.id] = true
		case session.State != "":
			l.found = append(l.found, session)
			l.spooled[f.id] = true
		}
	}
}

// spooledSession lists a session that has a spool. Its State is "" if the database has the
// whole session.
func (l *listing) spooledSession(ctx context.Context, id store.SessionID) (listed store.Session, err error) {
	x, err := l.store.locate(ctx, id, 0)
	if err != nil {
		return store.Session{}, err
	}
	defer x.close()
	if x.spool == nil {
		return store.Session{}, nil
	}
	live, err := l.store.live(id)
	if err != nil {
		return store.Session{}, err
	}
	session := x.projection.session
	session.Head.Chain = [32]byte{}
	defer func() { listed.ID = x.id }()
	err = x.rest(ctx, func(e store.Event) error {
		session.Head = store.Head{Seq: e.Seq, At: e.At, Sealed: e.Kind == store.Closed}
		return session.Count(e)
	})
	if session.Head.Seq == 0 && err == nil {
		return session, nil // its first record is not complete
	}
	session.State = state(session.Head, live)
	return session, err
}

func state(head store.Head, live bool) store.State {
	switch {
	case head.Sealed:
		return store.Ended
	case live:
		return store.Live
	}
	return store.Crashed
}

// database lists the sessions of one database.
func (l *listing) database(ctx context.Context, path string) error {
	digits := strings.ReplaceAll(l.query.Prefix, "-", "")
	prefix, _ := hex.DecodeString(digits[:min(len(digits), 32)&^1]) // the complete bytes before anything else
	var found []store.Session
	others := 0
	err := l.store.view(ctx, path, func(tx *dbTx) error {
		found, others = found[:0], 0
		if tx.stale {
			l.faults = append(l.faults, staleError(path))
		}
		if l.query.Limit == 0 && l.query.Prefix == "" {
			if err := tx.checkCount(nil); err != nil {
				return err
			}
		}
		if err := tx.readable(bucketMeta, prefix, after(prefix)); err != nil {
			return err
		}
		step, k, v := tx.cursor(prefix, l.query.Newest)
		for ; k != nil && bytes.HasPrefix(k, prefix); k, v = step() {
			// The keys of a month are in order of time, to the millisecond.
			if l.query.Limit > 0 && l.indexed+len(found) >= l.query.Limit && len(found) > 0 && filepath.Base(path) != "other.db" {
				last, err := found[len(found)-1].ID.Bytes()
				if err == nil && !bytes.Equal(last[:6], k[:6]) {
					return nil // it comes later
				}
			}
			p, err := decodeProjection([16]byte(k), v, path)
			if errors.Is(err, store.ErrCorrupt) {
				l.faults = append(l.faults, err)
				continue
			}
			if err != nil {
				return err
			}
			if !belongsIn(path, k) {
				others++
			} else if x := p.session; !p.deleted && !l.spooled[x.ID] && strings.HasPrefix(string(x.ID), l.query.Prefix) {
				x.State = state(x.Head, false)
				found = append(found, x)
			}
		}
		return nil
	})
	l.found = append(l.found, found...)
	if others > 0 {
		l.faults = append(l.faults, misplacedError(path, others))
	}
	if filepath.Base(path) != "other.db" {
		l.indexed += len(found)
	}
	return err
}

// Usage is the disk space of a store.
type Usage struct {
	Databases []DatabaseUsage
	Spools    FileUsage // of sessions that are live or not folded yet
	Damaged   FileUsage // damaged databases and spools
	// Stored is the disk space of each session, an estimate close to the space that compacting
	// would return without it.
	Stored map[store.SessionID]int64
}

// FileUsage counts files.
type FileUsage struct {
	Files int
	Bytes int64
}

// DatabaseUsage is the disk space of one database.
type DatabaseUsage struct {
	Path     string
	Bytes    int64 // of the file
	Free     int64 // space that compacting returns
	Sessions int
	Deleted  int // tombstones
	Chunks   FileUsage
}

// Size returns the bytes of databases and spools.
func (u Usage) Size() int64 {
	size := u.Spools.Bytes
	for _, d := range u.Databases {
		size += d.Bytes
	}
	return size
}

func (f *FileUsage) add(n int64) {
	f.Files++
	f.Bytes += n
}

// addSpools counts spools by the sizes of their files.
func (u *Usage) addSpools(s spools) error {
	files, err := s.files()
	for _, f := range files {
		info, err := os.Lstat(f.path)
		if err != nil {
			continue // folded since
		}
		switch f.ending {
		case ".log":
			u.Spools.add(info.Size())
			u.Stored[f.id] += info.Size()
		case ".damaged", ".renewed":
			u.Damaged.add(info.Size())
			u.Stored[f.id] += info.Size() // it goes with its session
		}
	}
	return err
}

// addDatabase counts what is in one database by the keys and the lengths of values.
func (u *Usage) addDatabase(ctx context.Context, d databases, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // it is gone
	}
	x := DatabaseUsage{Path: path, Bytes: info.Size()}
	defer func() { u.Databases = append(u.Databases, x) }()
	return d.view(ctx, path, func(tx *dbTx) error {
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
			u.Stored[sessionID([16]byte(k))] += int64(len(k) + len(v))
		}
		if err := tx.readable(bucketEv, nil, after(nil)); err != nil {
			return err
		}
		c = tx.ev.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if len(k) != len(key{}) {
				return damagedError(tx.path, "the key of a chunk")
			}
			x.Chunks.add(int64(len(v)))
			u.Stored[sessionID([16]byte(k[:16]))] += int64(len(k) + len(v))
		}
		return tx.addBodies(u)
	})
}
