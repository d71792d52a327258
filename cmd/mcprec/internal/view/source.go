package view

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/store/mask"
)

// source is a session that can be read from any of its events, masked.
type source struct {
	session      *session.Session
	header       store.Header // masked
	masker       session.Masker
	events       []store.Event // of a fixture, masked; nil for a session of a store
	introduction session.Introduction
	inOrder      func(store.Event) store.Event // of the goroutine that indexes

	mu      sync.Mutex
	indexed uint64                 // the last event that the index has: those up to it are masked alone, or in spread
	spread  map[uint64]store.Event // masked events with a secret that began in an earlier one
}

// openSource takes over a session. It reads a fixture as a whole.
func openSource(ctx context.Context, s *session.Session) (*source, error) {
	x := &source{session: s, masker: s.Masker}
	introduction, err := s.Introduction(ctx)
	if err != nil {
		return nil, err
	}
	x.introduction = introduction
	for e, err := range s.Events(ctx, 1, store.ReadOptions{}) {
		if err != nil {
			return nil, err
		}
		if e.Kind == store.Opened {
			x.header, err = store.ParseHeader(e.Payload)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.Name, err)
			}
		}
		if s.Store != nil {
			break
		}
		x.events = append(x.events, e)
	}
	if x.events == nil && s.Store == nil {
		return nil, fmt.Errorf("%s: it has no event", s.Name)
	}
	x.inOrder = x.masker.InOrder()
	return x, nil
}

// recorded yields the events from a Seq on: those of a store as they were recorded, those of a fixture
// masked. With follow it waits for further events of a live session.
func (x *source) recorded(ctx context.Context, from uint64, follow bool) iter.Seq2[store.Event, error] {
	if x.events == nil {
		return x.session.Recorded(ctx, from, store.ReadOptions{Follow: follow})
	}
	return jsonl.Each(x.events[min(from-1, uint64(len(x.events))):])
}

// maskNext masks the next event for the goroutine that indexes, which has inOrder. A secret may stand
// in several lines. A reader that begins in the middle would not find it, so maskNext keeps the masked
// event for it.
func (x *source) maskNext(e store.Event, inOrder func(store.Event) store.Event) store.Event {
	if x.events != nil {
		return e
	}
	masked := inOrder(e)
	isSpread := masked.Redacted != e.Redacted && !bytes.Equal(x.masker.Event(e).Payload, masked.Payload)
	if isSpread {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.spread == nil {
			x.spread = map[uint64]store.Event{}
		}
		x.spread[e.Seq] = masked
	}
	return masked
}

// hasIndexed notes that the index has an event: a reader need not look for a secret that begins before it.
func (x *source) hasIndexed(seq uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.indexed = seq
}

// read yields the masked events from a Seq on. What the index has not met is masked from the first event on: a
// secret may have begun anywhere.
func (x *source) read(ctx context.Context, from uint64) iter.Seq2[store.Event, error] {
	if x.events != nil {
		return x.recorded(ctx, from, false)
	}
	return func(yield func(store.Event, error) bool) {
		var behind func(store.Event) store.Event // masks what the index has not met
		for e, err := range x.recorded(ctx, from, false) {
			x.mu.Lock()
			isIndexed := e.Seq <= x.indexed
			masked, isSpread := x.spread[e.Seq]
			x.mu.Unlock()
			switch {
			case err != nil:
			case isSpread:
				e = masked
			case isIndexed:
				e = x.masker.Event(e)
			default:
				if behind == nil {
					if behind, err = x.inOrderFrom(ctx, e.Seq); err != nil {
						yield(e, err)
						return
					}
				}
				e = behind(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// inOrderFrom returns a function that masks the events from a Seq on, and has seen those before.
func (x *source) inOrderFrom(ctx context.Context, from uint64) (func(store.Event) store.Event, error) {
	inOrder := x.masker.InOrder()
	for e, err := range x.recorded(ctx, 1, false) {
		if err != nil || e.Seq >= from {
			return inOrder, err
		}
		if !mask.MayWait(e) {
			inOrder(e)
		}
	}
	return inOrder, nil
}

// readAll yields the masked events from the first on. They are masked on several cores, which takes
// longer than most of what is done with them.
func (x *source) readAll(ctx context.Context) iter.Seq2[store.Event, error] {
	if x.events != nil {
		return x.recorded(ctx, 1, false)
	}
	return func(yield func(store.Event, error) bool) {
		inOrder := x.masker.InOrder()
		for e, err := range session.MapEvents(x.recorded(ctx, 1, false), x.maskAlone) {
			if err == nil && !e.Made {
				e.Event = inOrder(e.Event)
			}
			if !yield(e.Event, err) {
				return
			}
		}
	}
}

// maskAlone masks an event that can be masked without the events before, and says whether it did.
func (x *source) maskAlone(e *store.Event, alone *bool) {
	if *alone = x.events == nil && mask.MayWait(*e); *alone {
		*e = x.masker.Event(*e)
	}
}

// head returns the end of the log as it is now, and the word of mcprec list for its state: "" for a
// fixture that is cut.
func (x *source) head(ctx context.Context) (head store.Head, word store.State, err error) {
	if x.events != nil {
		last := x.events[len(x.events)-1]
		if last.Kind == store.Closed {
			word = store.Ended
		}
		return store.Head{Seq: last.Seq, At: last.At, Sealed: last.Kind == store.Closed}, word, nil
	}
	for found, err := range x.session.Store.Sessions(ctx, store.Query{Prefix: string(x.session.ID)}) {
		if err == nil && found.ID == x.session.ID {
			return found.Head, found.State, nil
		}
	}
	return head, word, fmt.Errorf("%s: %w", x.session.Name, store.ErrNotFound)
}

// title returns how people name the session: its label, or the beginning of its id.
func (x *source) title() string {
	if x.header.Label != "" {
		return x.header.Label
	}
	if x.session.Store == nil && x.session.Name != "" {
		return x.session.Name[strings.LastIndexByte(x.session.Name, '/')+1:]
	}
	return string(x.header.ID[:min(8, len(x.header.ID))])
}
