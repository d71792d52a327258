// Package memstore keeps sessions in memory. It is the reference implementation of the store
// package's comments, and the easiest to read.
//
// # Data layout
//
// A map from session id to log. A log is a slice of events, their projection for listings, and
// a channel for followers, closed and replaced after every change.
//
// # What it refuses to do
//
// It survives nothing: Durability is "process" and means this process.
package memstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/store"
)

// Store is an in-memory store. Use New. The methods are safe for concurrent use.
type Store struct {
	mu     sync.Mutex
	logs   map[store.SessionID]*log
	closed bool
	done   chan struct{} // closed by Close
	key    []byte
}

type log struct {
	session store.Session // Header, Head and counts
	events  []store.Event
	live    bool // a spool holds the session
	deleted bool
	changed chan struct{}
}

// New returns an empty store.
func New() *Store {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return &Store{logs: map[store.SessionID]*log{}, done: make(chan struct{}), key: key}
}

var (
	_ store.Store   = (*Store)(nil)
	_ store.Spooler = (*Store)(nil)
	_ store.Keyed   = (*Store)(nil)
)

// RedactionKey returns a key for the life of the store.
func (s *Store) RedactionKey() ([]byte, error) { return s.key, nil }

// Append adds events after Seq `after`.
func (s *Store) Append(ctx context.Context, id store.SessionID, after uint64, events []store.Event) (store.Head, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.forAppend(ctx, id)
	if err == nil && l.live {
		err = store.ErrLive
	}
	if err != nil {
		return store.Head{}, fmt.Errorf("append to session %s: %w", id, err)
	}
	next, err := l.after(id, after, events)
	if err != nil {
		return l.session.Head, err
	}
	if err := next.take(id, events[min(len(events), int(l.session.Head.Seq-after)):]); err != nil {
		return l.session.Head, fmt.Errorf("append to session %s: %w", id, err)
	}
	if next.session.Head.Seq > l.session.Head.Seq {
		s.logs[id] = next
		close(l.changed)
	}
	return next.session.Head, nil
}

// forAppend returns the log of id, or a new log.
func (s *Store) forAppend(ctx context.Context, id store.SessionID) (*log, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if _, err := id.Bytes(); err != nil {
		return nil, err
	}
	l := s.logs[id]
	switch {
	case l == nil:
		return &log{changed: make(chan struct{})}, nil
	case l.deleted:
		return nil, fmt.Errorf("deleted: %w", store.ErrExists)
	}
	return l, nil
}

// after returns a copy of l for appending, if the overlapping events are equal to the events of l.
func (l *log) after(id store.SessionID, after uint64, events []store.Event) (*log, error) {
	held := l.session.Head.Seq
	if after > held {
		return nil, &store.ConflictError{ID: id, Head: l.session.Head}
	}
	for i, e := range events {
		if e.Seq != after+uint64(i)+1 {
			return nil, fmt.Errorf("append to session %s: event %d: expected event %d", id, e.Seq, after+uint64(i)+1)
		}
		if e.Seq <= held && !e.Equal(l.events[e.Seq-1]) {
			return nil, &store.ConflictError{ID: id, Head: l.session.Head}
		}
	}
	if l.session.Head.Sealed && after+uint64(len(events)) > held {
		return nil, &store.ConflictError{ID: id, Head: l.session.Head}
	}
	return l.copy(), nil
}

// copy returns a log with the same content for the place of l.
func (l *log) copy() *log {
	next := *l
	next.events = slices.Clip(l.events)
	next.changed = make(chan struct{})
	return &next
}

// take adds events to l. After an error l is of no use.
func (l *log) take(id store.SessionID, events []store.Event) error {
	for _, e := range events {
		head, err := l.session.Head.Next(e)
		if err != nil {
			return err
		}
		if err := l.session.Count(e); err != nil {
			return err
		}
		if !strings.EqualFold(string(l.session.ID), string(id)) {
			return fmt.Errorf("its header names session %s", l.session.ID)
		}
		l.session.ID = id
		e.Payload = bytes.Clone(e.Payload)
		l.session.Head = head
		l.events = append(l.events, e)
	}
	return nil
}

// Read yields the events from Seq `from`.
func (s *Store) Read(ctx context.Context, id store.SessionID, from uint64, o store.ReadOptions) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		from := max(from, 1)
		for {
			l, err := s.look(ctx, id)
			if err != nil {
				yield(store.Event{}, fmt.Errorf("read session %s: %w", id, err))
				return
			}
			for ; from <= uint64(len(l.events)); from++ {
				e := l.events[from-1]
				e.Payload = bytes.Clone(e.Payload)
				if err := ctx.Err(); err != nil {
					yield(store.Event{}, fmt.Errorf("read session %s: %w", id, err))
					return
				}
				if !yield(e, nil) {
					return
				}
			}
			if !o.Follow || !l.live || l.session.Head.Sealed {
				return
			}
			select {
			case <-l.changed:
			case <-ctx.Done():
			case <-s.done:
			}
		}
	}
}

// look returns a log as it is now; logs are replaced, never changed.
func (s *Store) look(ctx context.Context, id store.SessionID) (*log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	l := s.logs[id]
	if l == nil || l.deleted || len(l.events) == 0 {
		return nil, store.ErrNotFound
	}
	return l, nil
}

func (s *Store) usable(ctx context.Context) error {
	if s.closed {
		return store.ErrClosed
	}
	return ctx.Err()
}

// Head returns the end of the log.
func (s *Store) Head(ctx context.Context, id store.SessionID) (store.Head, error) {
	l, err := s.look(ctx, id)
	if err != nil {
		return store.Head{}, fmt.Errorf("head of session %s: %w", id, err)
	}
	return l.session.Head, nil
}

// Sessions yields the sessions of the query.
func (s *Store) Sessions(ctx context.Context, query store.Query) iter.Seq2[store.Session, error] {
	return func(yield func(store.Session, error) bool) {
		found, err := s.find(ctx, query)
		if err != nil {
			yield(store.Session{}, fmt.Errorf("list sessions: %w", err))
			return
		}
		for _, x := range found {
			if !yield(x, nil) {
				return
			}
		}
	}
}

func (s *Store) find(ctx context.Context, query store.Query) ([]store.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	var found []store.Session
	for id, l := range s.logs {
		if !l.deleted && len(l.events) > 0 && strings.HasPrefix(string(id), query.Prefix) {
			x := l.session
			x.ID, x.State = id, l.session.Head.State(l.live)
			found = append(found, x)
		}
	}
	return query.Order(found), nil
}

// Delete removes a session and leaves a tombstone.
func (s *Store) Delete(ctx context.Context, id store.SessionID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.usable(ctx)
	l := s.logs[id]
	switch {
	case err != nil:
	case l == nil || l.deleted:
		err = store.ErrNotFound
	case l.live:
		err = store.ErrLive
	default:
		s.logs[id] = &log{deleted: true}
		close(l.changed)
		return nil
	}
	return fmt.Errorf("delete session %s: %w", id, err)
}

// Info describes the store.
func (s *Store) Info() store.Info { return store.Info{Name: "memory", Durability: "process"} }

// Close makes every later call fail, and ends followers.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.done)
	}
	return nil
}

// Spool starts a live session.
func (s *Store) Spool(ctx context.Context, opened store.Event) (store.Spool, error) {
	h, err := store.ParseHeader(opened.Payload)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, fmt.Errorf("open spool of session %s: %w", h.ID, err)
	}
	if _, err := h.ID.Bytes(); err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	if s.logs[h.ID] != nil {
		return nil, fmt.Errorf("open spool of session %s: %w", h.ID, store.ErrExists)
	}
	order, err := store.Sequence{}.After([]store.Part{{Event: opened}})
	if err != nil {
		return nil, fmt.Errorf("open spool of session %s: %w", h.ID, err)
	}
	l := &log{live: true, changed: make(chan struct{})}
	if err := l.take(h.ID, []store.Event{opened}); err != nil {
		return nil, fmt.Errorf("open spool of session %s: %w", h.ID, err)
	}
	s.logs[h.ID] = l
	p := &spool{s: s, id: h.ID, order: order}
	if err := p.assemble.Add(store.Part{Event: opened}, 0); err != nil {
		return nil, fmt.Errorf("open spool of session %s: %w", h.ID, err)
	}
	p.assemble.Next() // it is in the log already
	return p, nil
}

type spool struct {
	s        *Store
	id       store.SessionID
	assemble store.Assembler
	order    store.Sequence
	closed   bool
}

// Write adds the parts in one step.
func (p *spool) Write(parts []store.Part) error {
	if p.closed {
		return fmt.Errorf("write to session %s: %w", p.id, store.ErrClosed)
	}
	order, err := p.order.After(parts)
	if err != nil {
		return fmt.Errorf("write to session %s: %w", p.id, err)
	}
	for _, x := range parts {
		x.Payload = bytes.Clone(x.Payload)
		if err := p.assemble.Add(x, 0); err != nil {
			return fmt.Errorf("write to session %s: %w", p.id, err)
		}
	}
	p.order = order
	return p.flush(true)
}

// flush moves complete events into the log.
func (p *spool) flush(live bool) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	old := p.s.logs[p.id]
	l := &log{session: old.session, events: old.events, live: live, changed: make(chan struct{})}
	for {
		e, ok := p.assemble.Next()
		if !ok {
			break
		}
		if err := l.take(p.id, []store.Event{e}); err != nil {
			return fmt.Errorf("write to session %s: %w", p.id, err)
		}
	}
	p.s.logs[p.id] = l
	close(old.changed)
	return nil
}

// Close cuts open events and lines, and releases the session.
func (p *spool) Close() error {
	if p.closed {
		return fmt.Errorf("close spool of session %s: %w", p.id, store.ErrClosed)
	}
	p.closed = true
	p.assemble.Cut()
	return p.flush(false)
}
