package boltstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcprec/mcprec/store"
)

// Append adds events after Seq `after`, in one transaction.
func (s *Store) Append(ctx context.Context, id store.SessionID, after uint64, events []store.Event) (store.Head, error) {
	head, err := s.append(ctx, id, after, events)
	if conflict := (*store.ConflictError)(nil); err != nil && !errors.As(err, &conflict) {
		err = fmt.Errorf("append to session %s: %w", id, err)
	}
	return head, err
}

func (s *Store) append(ctx context.Context, id store.SessionID, after uint64, events []store.Event) (head store.Head, err error) {
	key, err := id.Bytes()
	if err != nil {
		return head, err
	}
	if err := s.begin(ctx); err != nil {
		return head, err
	}
	defer s.end()
	id = sessionID(key)
	if _, err := regular(s.spoolPath(id)); err == nil {
		if err := s.foldDead(ctx, id, time.Time{}); err != nil {
			return head, err
		}
	}
	if live, err := s.live(id); live || err != nil {
		return head, errors.Join(err, store.ErrLive)
	}
	for {
		head, err = s.tryAppend(ctx, id, key, after, events)
		if !errors.Is(err, errChanged) {
			return head, err
		}
	}
}

// tryAppend makes the chunks while the database is unlocked, and stores them if the session
// has not changed meanwhile.
func (s *Store) tryAppend(ctx context.Context, id store.SessionID, key [16]byte, after uint64, events []store.Event) (store.Head, error) {
	path := s.databasePath(key)
	p, _, err := s.projection(ctx, path, key)
	before := p.session.Head
	if err != nil {
		return before, err
	}
	if p.deleted {
		return store.Head{}, fmt.Errorf("deleted: %w", store.ErrExists)
	}
	events, err = s.behind(ctx, id, key, before, after, events)
	if err != nil || len(events) == 0 {
		return before, err
	}
	c := &chunker{id: key}
	if err := c.take(&p, events); err != nil {
		return before, err
	}
	err = s.update(ctx, path, func(tx *dbTx) error {
		now, _, err := tx.projection(key)
		if err != nil {
			return err
		}
		if now.session.Head != before || now.deleted {
			return errChanged
		}
		return tx.putSession(key, c.done, &p)
	})
	if err != nil {
		return before, err
	}
	return p.session.Head, nil
}

// behind returns the events behind the head, after it has compared the others with the stored
// ones.
func (s *Store) behind(ctx context.Context, id store.SessionID, key [16]byte, head store.Head, after uint64, events []store.Event) ([]store.Event, error) {
	conflict := &store.ConflictError{ID: id, Head: head}
	if after > head.Seq {
		return nil, conflict
	}
	for i, e := range events {
		if e.Seq != after+uint64(i)+1 {
			return nil, fmt.Errorf("event %d: expected event %d", e.Seq, after+uint64(i)+1)
		}
	}
	stored := events[:min(head.Seq-after, uint64(len(events)))]
	events = events[len(stored):]
	if len(stored) > 0 {
		x := &source{store: s, id: id, key: key, path: s.databasePath(key)}
		x.projection.session.Head = head
		isSame := true
		err := x.readChunks(ctx, stored[0].Seq, func(e store.Event, err error) bool {
			isSame = err == nil && e.Equal(stored[0])
			stored = stored[1:]
			return isSame && len(stored) > 0
		})
		if err == nil && !isSame {
			err = conflict
		}
		if err != nil {
			return nil, err
		}
	}
	if len(events) > 0 && head.Sealed {
		return nil, conflict
	}
	return events, nil
}

// deleteStep is the number of sessions that one transaction deletes.
const deleteStep = 500

// Delete removes a session and leaves a tombstone.
func (s *Store) Delete(ctx context.Context, id store.SessionID) error {
	return s.call(ctx, fmt.Sprintf("delete session %s", id), func(ctx context.Context) error {
		x, err := s.locate(ctx, id, 0)
		if err != nil {
			return err
		}
		x.close()
		fault := store.ErrLive
		err = s.deleteStep(ctx, x.path, []store.SessionID{x.id}, func(store.SessionID) { fault = nil })
		if err != nil {
			return err
		}
		return fault
	})
}

// DeleteAll removes sessions, many in one transaction, and calls removed for each. It leaves
// out sessions that are being recorded or gone already. After an interrupted call the reported
// sessions are gone and the others untouched.
func (s *Store) DeleteAll(ctx context.Context, ids []store.SessionID, removed func(store.SessionID)) error {
	return s.call(ctx, "delete sessions", func(ctx context.Context) error {
		var paths []string
		inDatabase := map[string][]store.SessionID{}
		for _, id := range ids {
			key, err := id.Bytes()
			if err != nil {
				return err
			}
			path := s.databasePath(key)
			if inDatabase[path] == nil {
				paths = append(paths, path)
			}
			inDatabase[path] = append(inDatabase[path], sessionID(key))
		}
		var faults []error
		for _, path := range paths {
			for batch := range slices.Chunk(inDatabase[path], deleteStep) {
				err := s.deleteStep(ctx, path, batch, removed)
				if err != nil {
					faults = append(faults, err)
				}
				if isOdd(err) {
					break // other databases are not affected
				}
				if err != nil {
					return errors.Join(faults...)
				}
			}
		}
		return errors.Join(faults...)
	})
}

// deleteStep removes sessions of one database in one transaction.
func (s *Store) deleteStep(ctx context.Context, path string, ids []store.SessionID, removed func(store.SessionID)) error {
	if _, err := s.makeFolders(); err != nil { // for the lock
		return err
	}
	unlock, err := s.lockFold(ctx, true)
	if err != nil {
		return err
	}
	defer unlock()
	var held []store.SessionID
	for _, id := range ids {
		release, err := s.lockDead(id)
		if err != nil {
			return err
		}
		if release != nil {
			defer release()
			held = append(held, id)
		}
	}
	var gone []store.SessionID
	err = s.update(ctx, path, func(tx *dbTx) error {
		gone = gone[:0]
		for _, id := range held {
			key, _ := id.Bytes() // as before
			_, noSpool := regular(s.spoolPath(id))
			if tx.meta.Get(key[:]) == nil && noSpool != nil {
				continue // there is no such session
			}
			switch err := tx.removeSession(key); {
			case err == nil:
				gone = append(gone, id)
			case !errors.Is(err, store.ErrNotFound):
				return fmt.Errorf("session %s: %w", id, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range gone {
		for _, ending := range []string{".log", ".damaged", ".reserve", ".renewed", ".lock"} {
			path := s.spoolFile(id, ending)
			if _, err := regular(path); isOdd(err) {
				continue
			}
			if err := s.disk.remove(path); err != nil && ending != ".lock" {
				return err
			}
		}
		removed(id)
	}
	return nil
}
