package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/mcprec/mcprec/store"
)

// FoldDead folds the spools whose recorders are gone, for Options.FoldBudget.
// Any command may call it: what is locked, or does not fit on the disk, stays
// safe in its spool. The error joins what is damaged, and what is not a file where one
// should be; the others are folded.
func (s *Store) FoldDead(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return fmt.Errorf("fold spools: %w", err)
	}
	defer s.end()
	entries, err := os.ReadDir(s.spoolDir())
	if err != nil {
		return nil // a listing says it
	}
	faults := []error{s.Odd()}
	until := time.Now().Add(s.opts.FoldBudget)
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".log")
		id, err := store.ParseSessionID(name)
		if !ok || err != nil || !e.Type().IsRegular() {
			continue
		}
		if time.Now().After(until) || ctx.Err() != nil {
			break
		}
		if err = s.foldDead(once(ctx), id, until); errors.Is(err, store.ErrCorrupt) {
			faults = append(faults, fmt.Errorf("fold session %s: %w", id, err))
		}
	}
	return errors.Join(errors.Join(faults...), ctx.Err())
}

// foldDead folds the spool of one session, if its recorder is gone (ErrLive)
// and nobody else folds (ErrBusy). With a time limit it waits for nobody.
func (s *Store) foldDead(ctx context.Context, id store.SessionID, until time.Time) error {
	release, err := s.holdDead(ctx, id, until.IsZero())
	if err != nil {
		return err
	}
	defer release()
	_ = s.machine.remove(s.spoolFile(id, ".reserve")) // by releases up to 0.1.0
	key, err := id.Bytes()
	if err != nil {
		return err
	}
	err = s.foldAll(ctx, id, key, until)
	renewed := s.spoolFile(id, ".renewed")
	if _, none := os.Lstat(renewed); err == nil && none == nil {
		// A release up to 0.1.0 was making a new spool of this one. Of a log that has its
		// end nothing can be missing; of another one repair looks into that file.
		if p, ok, err := s.facts(ctx, s.monthPath(key), key); err == nil && ok && p.session.Head.Sealed {
			_ = s.machine.remove(renewed)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// Folded by another, or its recorder died before the first record.
		err = s.machine.remove(s.spoolPath(id))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	case errors.Is(err, store.ErrCorrupt) && s.headless(id, key):
		err = s.removeSpool(id, err)
	}
	if _, statErr := os.Lstat(s.spoolPath(id)); errors.Is(statErr, fs.ErrNotExist) {
		if _, err := regular(s.lockPath(id)); !isOdd(err) {
			_ = s.machine.remove(s.lockPath(id))
		}
	}
	return err
}

// headless reports whether a spool's header or its first event is damaged.
func (s *Store) headless(id store.SessionID, key [16]byte) bool {
	f, err := s.openSpool(id, key)
	if err == nil {
		defer func() { _ = f.Close() }()
		r := newSpoolReader(f, spoolStart)
		ok := false
		if _, ok, err = r.read(); !ok && err == nil {
			err = r.finish()
		}
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
