package boltstore

import (
	"context"
	"errors"
	"fmt"
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
	id = idOf(key)
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
		if !errors.Is(err, errMoved) {
			return head, err
		}
	}
}

// tryAppend makes the chunks with the database unlocked, and stores them if the
// session ends where it did.
func (s *Store) tryAppend(ctx context.Context, id store.SessionID, key [16]byte, after uint64, events []store.Event) (store.Head, error) {
	path := s.monthPath(key)
	p, _, err := s.facts(ctx, path, key)
	before := p.session.Head
	if err != nil {
		return before, err
	}
	if p.deleted {
		return store.Head{}, fmt.Errorf("deleted: %w", store.ErrExists)
	}
	events, err = s.unheld(ctx, id, key, before, after, events)
	if err != nil || len(events) == 0 {
		return before, err
	}
	c := &chunker{id: key}
	if err := c.take(&p, events); err != nil {
		return before, err
	}
	err = s.update(ctx, path, func(m *month) error {
		now, _, err := m.get(key)
		if err != nil {
			return err
		}
		if now.session.Head != before || now.deleted {
			return errMoved
		}
		return m.store(key, c.done, &p)
	})
	if err != nil {
		return before, err
	}
	return p.session.Head, nil
}

// unheld returns those of the events that follow the head, after a look whether
// the others are the same as those that are there.
func (s *Store) unheld(ctx context.Context, id store.SessionID, key [16]byte, head store.Head, after uint64, events []store.Event) ([]store.Event, error) {
	if after > head.Seq {
		return nil, &store.ConflictError{ID: id, Head: head}
	}
	for i, e := range events {
		if e.Seq != after+uint64(i)+1 {
			return nil, fmt.Errorf("event %d: expected event %d", e.Seq, after+uint64(i)+1)
		}
	}
	held := min(head.Seq-after, uint64(len(events)))
	if err := s.compare(ctx, id, key, head, events[:held]); err != nil {
		return nil, err
	}
	if events = events[held:]; len(events) > 0 && head.Sealed {
		return nil, &store.ConflictError{ID: id, Head: head}
	}
	return events, nil
}

// compare holds events against those of the same Seq in the database.
func (s *Store) compare(ctx context.Context, id store.SessionID, key [16]byte, head store.Head, events []store.Event) error {
	if len(events) == 0 {
		return nil
	}
	x := &source{id: id, key: key, path: s.monthPath(key)}
	x.facts.session.Head = head
	same := true
	err := s.readChunks(ctx, x, events[0].Seq, func(e store.Event, err error) bool {
		same = err == nil && e.Equal(events[0])
		events = events[1:]
		return same && len(events) > 0
	})
	if err == nil && !same {
		err = &store.ConflictError{ID: id, Head: head}
	}
	return err
}
