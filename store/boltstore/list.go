package boltstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/store"
)

// Sessions yields the sessions that the query selects. The listing of a session
// that is still in its spool has no chain in its Head.
func (s *Store) Sessions(ctx context.Context, q store.Query) iter.Seq2[store.Session, error] {
	return func(yield func(store.Session, error) bool) {
		l := &listing{s: s, q: q, spooled: map[store.SessionID]bool{}}
		if err := s.begin(ctx); err != nil {
			l.faults = []error{err}
		} else {
			l.collect(ctx)
			s.end()
		}
		for _, err := range l.faults {
			if !yield(store.Session{}, fmt.Errorf("list sessions: %w", err)) {
				return
			}
		}
		for _, x := range l.found {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// listing collects sessions, spools first and then month by month.
type listing struct {
	s       *Store
	q       store.Query
	spooled map[store.SessionID]bool // listed from their spools
	found   []store.Session
	indexed int // of those found, how many are from the databases of months
	faults  []error
}

func (l *listing) collect(ctx context.Context) {
	l.spools(ctx)
	for _, path := range l.databases() {
		if name := filepath.Base(path); l.q.Limit > 0 && l.indexed >= l.q.Limit && name != "other.db" {
			break // no session in it can come before those found
		}
		if err := l.database(ctx, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.faults = append(l.faults, err)
		}
	}
	slices.SortFunc(l.found, func(a, b store.Session) int {
		c := cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID))
		if l.q.Newest {
			return -c
		}
		return c
	})
	if l.q.Limit > 0 && len(l.found) > l.q.Limit {
		l.found = l.found[:l.q.Limit]
	}
}

// databases returns the paths of the databases in the order of the query; the one
// without a month first, because its sessions are of any time.
func (l *listing) databases() []string {
	paths, foreign, err := l.s.databasePaths()
	if l.faults = append(l.faults, foreign...); err != nil {
		l.faults = append(l.faults, err)
	}
	slices.SortFunc(paths, func(a, b string) int {
		switch a, b := filepath.Base(a), filepath.Base(b); {
		case a == "other.db":
			return -1
		case b == "other.db":
			return 1
		case l.q.Newest:
			return cmp.Compare(b, a)
		}
		return cmp.Compare(a, b)
	})
	return paths
}

// spools lists the sessions that are, as a whole or in part, in spools only.
func (l *listing) spools(ctx context.Context) {
	files, err := l.s.files()
	if err != nil {
		l.faults = append(l.faults, err)
	}
	for _, f := range files {
		if f.ending != ".log" || !strings.HasPrefix(string(f.id), l.q.Prefix) {
			continue
		}
		session, err := l.spooledSession(ctx, f.id)
		switch {
		case errors.Is(err, store.ErrNotFound): // folded or deleted in between
		case err != nil:
			l.faults = append(l.faults, fmt.Errorf("session %s: %w", f.id, err))
			l.spooled[f.id] = true
		case session.State != "":
			l.found = append(l.found, session)
			l.spooled[f.id] = true
		}
	}
}

// spooledSession lists a session that has a spool. Its State is "" when the
// database has all of it.
func (l *listing) spooledSession(ctx context.Context, id store.SessionID) (listed store.Session, err error) {
	x, err := l.s.locate(ctx, id, 0)
	if err != nil {
		return store.Session{}, err
	}
	defer x.close()
	if x.spool == nil {
		return store.Session{}, nil
	}
	live, err := l.s.live(id)
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
		return session, nil // begun, but its first record is not whole
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
	prefix := prefixBytes(l.q.Prefix)
	var found []store.Session
	others := 0
	err := l.s.view(ctx, path, func(m *dbTx) error {
		found, others = found[:0], 0
		if m.stale {
			l.faults = append(l.faults, staleError(path))
		}
		if l.q.Limit == 0 && l.q.Prefix == "" {
			if err := m.checkCount(nil); err != nil {
				return err
			}
		}
		if err := m.readable(bucketMeta, prefix, after(prefix)); err != nil {
			return err
		}
		step, k, v := m.cursor(prefix, l.q.Newest)
		for ; k != nil && bytes.HasPrefix(k, prefix); k, v = step() {
			if l.enough(found, k, path) {
				return nil
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
			} else if x := p.session; !p.deleted && !l.spooled[x.ID] && strings.HasPrefix(string(x.ID), l.q.Prefix) {
				x.State = state(x.Head, false)
				found = append(found, x)
			}
		}
		return nil
	})
	if l.found = append(l.found, found...); others > 0 {
		l.faults = append(l.faults, misplacedError(path, others))
	}
	if filepath.Base(path) != "other.db" {
		l.indexed += len(found)
	}
	return err
}

// enough reports whether the session with key k cannot come before those found:
// the keys of a month are in order of time, to the millisecond.
func (l *listing) enough(found []store.Session, k []byte, path string) bool {
	if l.q.Limit == 0 || l.indexed+len(found) < l.q.Limit || len(found) == 0 || filepath.Base(path) == "other.db" {
		return false
	}
	last, err := found[len(found)-1].ID.Bytes()
	return err == nil && !bytes.Equal(last[:6], k[:6])
}

// prefixBytes returns the whole bytes of a prefix of a session id's text.
func prefixBytes(text string) []byte {
	text = strings.ReplaceAll(text, "-", "")
	b := make([]byte, 0, 16)
	for i := 0; i+2 <= len(text) && len(b) < 16; i += 2 {
		var c byte
		if _, err := fmt.Sscanf(text[i:i+2], "%02x", &c); err != nil {
			break
		}
		b = append(b, c)
	}
	return b
}

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

// Usage counts the bytes of the store's files and sessions. It reads no payload. The error
// names the parts of the store that cannot be read; the rest is counted.
func (s *Store) Usage(ctx context.Context) (Usage, error) {
	u := Usage{Stored: map[store.SessionID]int64{}}
	if err := s.begin(ctx); err != nil {
		return u, fmt.Errorf("usage of store: %w", err)
	}
	defer s.end()
	faults := []error{s.spoolUsage(&u)}
	paths, foreign, err := s.databasePaths()
	faults = append(append(faults, foreign...), err)
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		d := DatabaseUsage{Path: path, Bytes: info.Size()}
		if err := s.databaseUsage(ctx, &u, &d); err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, err)
		}
		u.Databases = append(u.Databases, d)
	}
	entries, err := readDir(s.storeDir())
	faults = append(faults, err)
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
func (s spools) spoolUsage(u *Usage) error {
	files, err := s.files()
	for _, f := range files {
		info, err := os.Lstat(f.path)
		if err != nil {
			continue // folded in between
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

// databaseUsage counts what is in one database by the keys and the lengths of values.
func (d databases) databaseUsage(ctx context.Context, u *Usage, x *DatabaseUsage) error {
	return d.view(ctx, x.Path, func(m *dbTx) error {
		used, err := m.used()
		if err != nil {
			return err
		}
		x.Free = max(x.Bytes-used, 0)
		if err := m.checkCount(nil); err != nil {
			return err
		}
		c := m.meta.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if len(v) > 5 && v[5]&metaDeleted != 0 {
				x.Deleted++
				continue
			}
			x.Sessions++
			u.Stored[sessionID([16]byte(k))] += int64(len(k) + len(v))
		}
		if err := m.readable(bucketEv, nil, after(nil)); err != nil {
			return err
		}
		c = m.ev.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if len(k) != len(key{}) {
				return damagedError(m.path, "the key of a chunk")
			}
			x.Chunks.add(int64(len(v)))
			u.Stored[sessionID([16]byte(k[:16]))] += int64(len(k) + len(v))
		}
		return m.addBodies(u)
	})
}
