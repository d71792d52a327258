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

// FoldDead folds the spools whose recorders are gone, up to Options.FoldBudget.
// Any command may call it: what is locked it leaves to those who hold it. The
// error joins what went wrong with single spools; the others are folded.
func (s *Store) FoldDead(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return fmt.Errorf("fold spools: %w", err)
	}
	defer s.end()
	entries, err := os.ReadDir(s.spoolDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("fold spools: %w", err)
	}
	var faults []error
	budget := s.opts.FoldBudget
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".log")
		id, err := store.ParseSessionID(name)
		if !ok || err != nil || budget <= 0 {
			continue
		}
		if info, err := e.Info(); err == nil {
			budget -= info.Size()
		}
		err = s.foldDead(ctx, id, false)
		if err != nil && !errors.Is(err, store.ErrBusy) && !errors.Is(err, store.ErrLive) {
			faults = append(faults, fmt.Errorf("fold session %s: %w", id, err))
		}
	}
	return errors.Join(faults...)
}

// foldDead folds the spool of one session, if its recorder is gone (ErrLive)
// and nobody else folds (ErrBusy, at once unless wait).
func (s *Store) foldDead(ctx context.Context, id store.SessionID, wait bool) error {
	release, err := s.holdDead(ctx, id, wait)
	if err != nil {
		return err
	}
	defer release()
	key, err := id.Bytes()
	if err != nil {
		return err
	}
	err = s.foldAll(ctx, id, key, true)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// Folded by another, or its recorder died before the first record.
		err = os.Remove(s.spoolPath(id))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	case errors.Is(err, store.ErrCorrupt) && s.noSpoolHead(id, key):
		err = s.removeSpool(id, err)
	}
	if _, statErr := os.Lstat(s.spoolPath(id)); errors.Is(statErr, fs.ErrNotExist) {
		_ = os.Remove(s.lockPath(id))
	}
	return err
}

// noSpoolHead reports whether a spool is damaged from its first byte.
func (s *Store) noSpoolHead(id store.SessionID, key [16]byte) bool {
	f, err := s.openSpool(id, key)
	if err == nil {
		_ = f.Close()
	}
	return errors.Is(err, store.ErrCorrupt)
}

// holdDead takes the locks that folding or deleting what a dead recorder left
// needs.
func (s *Store) holdDead(ctx context.Context, id store.SessionID, wait bool) (release func(), err error) {
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
