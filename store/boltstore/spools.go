package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/mcprec/mcprec/store"
)

// spools are the files and locks of live sessions and of sessions that are not folded yet.
// They know nothing of databases.
type spools struct{ *directory }

func (s spools) spoolPath(id store.SessionID) string { return s.spoolFile(id, ".log") }

// spoolFile returns the path of a session's file in the folder of the spools.
func (s spools) spoolFile(id store.SessionID, ending string) string {
	return filepath.Join(s.spoolDir(), string(id)+ending)
}

// sessionFile is a regular file in the folder of the spools that is named by a session's id.
type sessionFile struct {
	id           store.SessionID
	ending, path string
}

func (s spools) files() (files []sessionFile, err error) {
	entries, err := readDir(s.spoolDir())
	for _, e := range entries {
		name, ending, _ := strings.Cut(e.Name(), ".")
		if id, err := store.ParseSessionID(name); err == nil && e.Type().IsRegular() {
			files = append(files, sessionFile{id, "." + ending, filepath.Join(s.spoolDir(), e.Name())})
		}
	}
	return files, err
}

// A recorder holds the exclusive lock of its session while it lives. Others try a shared lock
// to see whether it lives; folding or deleting a dead session keeps a shared lock, so that the
// session still looks dead. fold.lock excludes other folds.

func (s spools) lockPath(id store.SessionID) string {
	return s.spoolFile(id, ".lock")
}

// lockLive makes and takes the lock of a new session.
func (s spools) lockLive(id store.SessionID) (*flock.Flock, error) {
	l := flock.New(s.lockPath(id), flock.SetFlag(os.O_CREATE|os.O_RDONLY|noFollow|noBlock), flock.SetPermissions(0o600))
	ok, err := s.disk.tryLock(l, false)
	if err != nil {
		return nil, err
	}
	if !ok || !underName(l, l.Path()) {
		_ = l.Close()
		return nil, store.ErrExists
	}
	return l, nil
}

// lockDead takes the shared lock of a session whose recorder is dead, so that none can start.
// It returns nil while a recorder lives.
func (s spools) lockDead(id store.SessionID) (unlock func(), err error) {
	if _, err := regular(s.lockPath(id)); isOdd(err) {
		return func() {}, nil // no recorder can hold a lock on it
	}
	l := flock.New(s.lockPath(id), flock.SetFlag(os.O_RDONLY|noFollow|noBlock))
	ok, err := s.disk.tryLock(l, true)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return func() {}, nil
	case err != nil:
		return nil, fmt.Errorf("lock of session %s: %w", id, err)
	case !ok:
		return nil, nil
	}
	return func() { _ = l.Close() }, nil
}

// live reports whether a recorder holds the session.
func (s spools) live(id store.SessionID) (bool, error) {
	unlock, err := s.lockDead(id)
	if unlock != nil {
		unlock()
	}
	return unlock == nil && err == nil, err
}

// lockFold takes the lock that one fold at a time holds.
func (s spools) lockFold(ctx context.Context, wait bool) (unlock func(), err error) {
	return s.lockFile(ctx, filepath.Join(s.spoolDir(), "fold.lock"), wait)
}

// holdDead takes the locks for folding or deleting a dead session.
func (s spools) holdDead(ctx context.Context, id store.SessionID, wait bool) (release func(), err error) {
	unlock, err := s.lockDead(id)
	if err != nil {
		return nil, err
	}
	if unlock == nil {
		return nil, store.ErrLive
	}
	unlockFold, err := s.lockFold(ctx, wait)
	if err == nil && unlockFold == nil {
		err = store.ErrBusy
	}
	if err != nil {
		unlock()
		return nil, err
	}
	return func() { unlockFold(); unlock() }, nil
}

// openSpool opens the spool of a session. The error is fs.ErrNotExist if there is none or its
// recorder died before it wrote the header.
func (s spools) openSpool(id store.SessionID, key [16]byte) (fileReader, error) {
	path := s.spoolPath(id)
	f, err := s.disk.open(path)
	if err != nil {
		return nil, err
	}
	var head [spoolHead]byte
	n, err := f.ReadAt(head[:], 0)
	switch {
	case n < spoolHead && err == io.EOF:
		err = fmt.Errorf("read spool %s: not begun: %w", path, fs.ErrNotExist)
	case err == nil:
		err = checkSpoolHead(head[:], key, path)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// headless reports whether a spool's header or first event is damaged.
func (s spools) headless(id store.SessionID, key [16]byte) bool {
	f, err := s.openSpool(id, key)
	if err == nil {
		defer func() { _ = f.Close() }()
		r := newSpoolReader(f, spoolStart)
		ok := false
		if _, ok, err = r.read(); !ok && err == nil {
			err = r.end()
		}
	}
	return errors.Is(err, store.ErrCorrupt)
}

// removeSpool removes a folded spool, or keeps a damaged one under another name.
func (s spools) removeSpool(id store.SessionID, damage error) error {
	path := s.spoolPath(id)
	if damage == nil {
		return s.disk.remove(path)
	}
	kept := s.spoolFile(id, ".damaged")
	if err := s.disk.rename(path, kept, true); err != nil {
		return errors.Join(damage, err)
	}
	return fmt.Errorf("%w; kept as %s", damage, kept)
}
