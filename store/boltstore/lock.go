package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcprec/mcprec/store"
)

// The lock of a session is exclusive while its recorder lives. Whoever asks
// whether it lives tries a shared lock, and whoever folds or deletes what it
// left keeps one, so that asking and folding look alike: dead. Folders exclude
// each other by fold.lock.

func (s *Store) lockPath(id store.SessionID) string {
	return s.spoolFile(id, ".lock")
}

// lockLive makes the lock file of a new live session.
func (s *Store) lockLive(id store.SessionID) (*flock.Flock, error) {
	l := flock.New(s.lockPath(id), flock.SetFlag(os.O_CREATE|os.O_RDONLY|noFollow|noWait), flock.SetPermissions(0o600))
	ok, err := s.machine.tryLock(l, false)
	if err != nil {
		return nil, err
	}
	if !ok || !current(l) {
		_ = l.Close()
		return nil, store.ErrExists
	}
	return l, nil
}

// current reports whether the locked file is still the one under its name.
func current(l *flock.Flock) bool {
	held, err1 := l.Stat()
	named, err2 := os.Stat(l.Path())
	return err1 == nil && err2 == nil && os.SameFile(held, named)
}

// lockDead takes the shared lock of a session whose recorder is gone, so that
// it stays gone. It returns nil while the recorder lives. unlock ends it.
func (s *Store) lockDead(id store.SessionID) (unlock func(), err error) {
	if _, err := regular(s.lockPath(id)); isOdd(err) {
		return func() {}, nil // no recorder can hold that
	}
	l := flock.New(s.lockPath(id), flock.SetFlag(os.O_RDONLY|noFollow|noWait))
	ok, err := s.machine.tryLock(l, true)
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
func (s *Store) live(id store.SessionID) (bool, error) {
	unlock, err := s.lockDead(id)
	if unlock != nil {
		unlock()
	}
	return unlock == nil && err == nil, err
}

// lockFold excludes the other folders.
func (s *Store) lockFold(ctx context.Context, wait bool) (unlock func(), err error) {
	return s.lockFile(ctx, filepath.Join(s.spoolDir(), "fold.lock"), wait)
}

// lockFile takes an exclusive lock. With wait it is patient; without, a lock
// that is held gives nil.
func (s *Store) lockFile(ctx context.Context, path string, wait bool) (unlock func(), err error) {
	if _, err := regular(path); isOdd(err) { // nobody can hold that, and many need the lock
		if _, err := s.setAside(path); err != nil {
			return nil, err
		}
	}
	l := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDONLY|noFollow|noWait), flock.SetPermissions(0o600))
	for deadline := time.Now().Add(s.opts.Patience); ; {
		ok, err := s.machine.tryLock(l, false)
		switch {
		case err != nil:
			return nil, err
		case ok:
			return func() { _ = l.Close() }, nil
		case !wait:
			return nil, nil
		case time.Now().After(deadline):
			return nil, fmt.Errorf("lock %s: %w", l.Path(), store.ErrBusy)
		}
		if err := pause(ctx, lockRetry); err != nil {
			return nil, err
		}
	}
}

// hasty is the key of a context in which a database that another process holds
// is asked for once.
type hasty struct{}

func once(ctx context.Context) context.Context { return context.WithValue(ctx, hasty{}, true) }

// pause waits for d, or for the end of the context.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
