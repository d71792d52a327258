package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/mcprec/mcprec/store"
)

// Append adds events after Seq `after`.
func (s *Store) Append(ctx context.Context, id store.SessionID, after uint64, events []store.Event) (store.Head, error) {
	canonical, err := s.begin(id)
	if err != nil {
		return store.Head{}, fmt.Errorf("append to session %s: %w", id, err)
	}
	defer s.calls.Done()
	token := rand.Text()
	for tries := 1; ; tries++ {
		head, err := s.appendOnce(ctx, canonical, token, after, events)
		var conflict *store.ConflictError
		switch {
		case err == nil || errors.As(err, &conflict):
			return head, err
		case !errors.Is(err, errMoved) || tries == maxTries:
			return head, fmt.Errorf("append to session %s: %w", id, err)
		}
	}
}

const maxTries = 50 // against other writers of the same session

// appendOnce appends as a writer of its own: it makes the session's entry unsettled, appends, and
// settles the entry. errMoved if another writer came between; then it may be tried again.
func (s *Store) appendOnce(ctx context.Context, id store.SessionID, token string, after uint64, events []store.Event) (head store.Head, err error) {
	e, end, err := s.writable(ctx, id)
	if err != nil {
		return head, err
	}
	fresh, err := s.fresh(ctx, end, after, events)
	if err != nil || len(fresh) == 0 && (e.settled || e.seq == 0) {
		return end.session.Head, err
	}
	if _, err := count(end.session, fresh); err != nil { // before anything is written
		return end.session.Head, err
	}
	before := end.session.Head
	if end, err = s.settleable(ctx, &e, end, token); err != nil {
		return end.session.Head, err
	}
	if end.session.Head != before { // the fence came behind another's events
		return end.session.Head, errMoved
	}
	if len(fresh) > 0 {
		if fresh[0].Seq == 1 {
			if err := s.meta.markIrregular(ctx, fresh[0]); err != nil {
				return end.session.Head, err
			}
		}
		if end, err = s.logs.append(ctx, end, fresh, token); err != nil {
			return end.session.Head, err
		}
	}
	if len(fresh) > 0 && fresh[0].Seq == 1 {
		e.takeOpening(fresh[0])
	}
	if err := findOpening(ctx, s.logs, &e, end); err != nil {
		return end.session.Head, err
	}
	return end.session.Head, s.settle(ctx, e, end)
}

// writable returns the entry of a session and the end of its log, unless a claim holds the session or
// it was deleted.
func (s *Store) writable(ctx context.Context, id store.SessionID) (e entry, end place, err error) {
	if e, err = s.meta.entry(ctx, id); err != nil {
		return e, end, err
	}
	if e.deleted {
		return e, end, fmt.Errorf("deleted: %w", store.ErrExists)
	}
	live, err := s.meta.live(ctx, e)
	switch {
	case err != nil:
		return e, end, err
	case live:
		return e, end, store.ErrLive
	}
	end, err = s.logs.last(ctx, id)
	return e, end, err
}

// settleable makes the entry unsettled, for the writer with the token. It puts a fence if another
// writer left the entry unsettled, and returns the new end of the log.
func (s *Store) settleable(ctx context.Context, e *entry, end place, token string) (place, error) {
	left := !e.settled && (e.seq != 0 || end.seq != 0)
	e.settled = false
	e.writer = token
	e.session = withCounts(e.session, end.session)
	var err error
	if e.seq, err = s.meta.put(ctx, *e); err != nil || !left {
		return end, err
	}
	return s.logs.fence(ctx, end, token)
}

// settle tells in the session's entry that the log ends at end, and nobody writes.
func (s *Store) settle(ctx context.Context, e entry, end place) error {
	for range maxTries {
		e.session = withCounts(e.session, end.session)
		e.settled = true
		e.held = false
		_, err := s.meta.put(ctx, e)
		if !errors.Is(err, errMoved) {
			return err
		}
		// Another writer has the entry. A settled one may be older than this append.
		now, err := s.meta.entry(ctx, end.session.ID)
		if err != nil || !now.settled || now.deleted || now.session.Head.Seq >= end.session.Head.Seq {
			return err
		}
		e = now
	}
	return errMoved
}

// withCounts returns a session with the header of one, and the head and the counts of the other.
func withCounts(header, counts store.Session) store.Session {
	counts.Header = header.Header
	return counts
}

// takeOpening takes the header of a session's first event, which was counted before.
func (e *entry) takeOpening(opening store.Event) {
	header, err := store.ParseHeader(opening.Payload)
	if err != nil {
		return
	}
	header.ID = e.session.ID
	e.session.Header = header
	e.opened = true
}

// findOpening reads the header from the log if the entry has none.
func findOpening(ctx context.Context, g *logs, e *entry, end place) error {
	if e.opened || end.session.Head.Seq == 0 {
		return nil
	}
	for event, err := range g.events(ctx, end, 1) {
		if err != nil {
			return err
		}
		e.takeOpening(event)
		break
	}
	return nil
}

// fresh returns the events that the log does not have yet. The others must be equal to those of the
// log; else the error is a *store.ConflictError.
func (s *Store) fresh(ctx context.Context, end place, after uint64, events []store.Event) ([]store.Event, error) {
	head := end.session.Head
	conflict := &store.ConflictError{ID: end.session.ID, Head: head}
	if after > head.Seq {
		return nil, conflict
	}
	for i := range events {
		if want := after + uint64(i) + 1; events[i].Seq != want {
			return nil, fmt.Errorf("event %d: expected event %d", events[i].Seq, want)
		}
	}
	known := min(uint64(len(events)), head.Seq-after)
	if known > 0 {
		same, err := s.same(ctx, end, events[:known])
		if err != nil {
			return nil, err
		}
		if !same {
			return nil, conflict
		}
	}
	if head.Sealed && known < uint64(len(events)) {
		return nil, conflict
	}
	return events[known:], nil
}

// same reports whether events are those of the log, which ends at end or later.
func (s *Store) same(ctx context.Context, end place, events []store.Event) (bool, error) {
	if last := events[len(events)-1].Seq; events[0].Seq == 1 && last == end.session.Head.Seq {
		counted, err := count(store.Session{Header: store.Header{ID: end.session.ID}}, events)
		return err == nil && counted.Head == end.session.Head, nil
	}
	i := 0
	for event, err := range s.logs.events(ctx, end, events[0].Seq) {
		if err != nil {
			return false, err
		}
		if !event.Equal(events[i]) {
			return false, nil
		}
		if i++; i == len(events) {
			return true, nil
		}
	}
	return false, fmt.Errorf("the log ends before event %d: %w", events[i].Seq, store.ErrCorrupt)
}

// Claim makes the caller the only writer of a session.
func (s *Store) Claim(ctx context.Context, id store.SessionID) (store.Claim, error) {
	canonical, err := s.begin(id)
	if err != nil {
		return nil, fmt.Errorf("claim session %s: %w", id, err)
	}
	defer s.calls.Done()
	for tries := 1; ; tries++ {
		c, err := s.claimOnce(ctx, canonical)
		if err == nil {
			s.claims.add(c)
			return c, nil
		}
		if !errors.Is(err, errMoved) || tries == maxTries {
			return nil, fmt.Errorf("claim session %s: %w", id, err)
		}
	}
}

func (s *Store) claimOnce(ctx context.Context, id store.SessionID) (*claim, error) {
	e, end, err := s.writable(ctx, id)
	if err != nil {
		return nil, err
	}
	c := &claim{s: s, id: id, token: rand.Text(), writing: make(chan struct{}, 1), known: true}
	e.held = true
	e.lease = s.options.lease()
	c.wrote = time.Now()
	e.clock = c.wrote
	if c.end, err = s.settleable(ctx, &e, end, c.token); err != nil {
		return nil, err
	}
	c.entry = e
	return c, nil
}
