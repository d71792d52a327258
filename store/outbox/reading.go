package outbox

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/mcprec/mcprec/store"
)

// localError is a fault on this side: of the local store, or of the mask.
type localError struct{ cause error }

func (e *localError) Error() string { return e.cause.Error() }

func (e *localError) Unwrap() error { return e.cause }

// item is a masked event of a local log.
type item struct {
	event store.Event
	bytes int64 // that the event takes of the local log's payloads
}

// reading is a goroutine that reads a local log from its first event, and masks it.
type reading struct {
	items   chan item
	cancel  context.CancelFunc
	err     error   // why the reading ended, after items is closed; nil: at the end of the log
	summary Summary // of all events, after items is closed; may be nil
}

// startReading starts to read a log; follow: until its recorder ends. cuts are the events to cut.
func (o *Outbox) startReading(ctx context.Context, id store.SessionID, follow bool, cuts map[uint64]int) *reading {
	ctx, cancel := context.WithCancel(ctx)
	r := &reading{items: make(chan item), cancel: cancel}
	if o.options.Summarize != nil {
		r.summary = o.options.Summarize()
	}
	cuts = maps.Clone(cuts)
	go func() {
		defer close(r.items)
		r.err = o.readMasked(ctx, id, follow, cuts, r)
	}()
	return r
}

// stop ends the reading and waits for it.
func (r *reading) stop() {
	r.cancel()
	for range r.items {
	}
}

func (o *Outbox) readMasked(ctx context.Context, id store.SessionID, follow bool, cuts map[uint64]int, r *reading) error {
	var mask func(store.Event) store.Event
	for event, err := range o.local.Read(ctx, id, 1, store.ReadOptions{Follow: follow}) {
		if err != nil {
			return &localError{err}
		}
		bytes := int64(len(event.Payload))
		if isLine := event.Kind == store.Frame || event.Kind == store.Stderr; isLine && event.Stream == 0 && !event.Unterminated {
			bytes++ // its newline
		}
		if event.Seq == 1 && o.options.Mask != nil {
			header, err := store.ParseHeader(event.Payload)
			if err == nil {
				mask, err = o.options.Mask(header)
			}
			if err == nil && mask == nil {
				err = errors.New("there is none")
			}
			if err != nil {
				return &localError{fmt.Errorf("make the mask of session %s: %w", id, err)}
			}
		}
		if mask != nil {
			event = mask(event)
		}
		if size, ok := cuts[event.Seq]; ok {
			event, _ = cut(event, size)
		}
		if r.summary != nil && r.summary.Apply(event) != nil {
			r.summary = nil // a reader makes it
		}
		select {
		case r.items <- item{event, bytes}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
