package memstore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/mcprec/mcprec/store"
)

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

// Write adds the parts, all or none.
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
