package push

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/mcprec/mcprec/store"
)

// localError is a fault on this side: of the folder, or of the mask.
type localError struct{ cause error }

func (e *localError) Error() string { return e.cause.Error() }

func (e *localError) Unwrap() error { return e.cause }

// reading is a goroutine that reads a local log from its first event, and masks it.
type reading struct {
	events chan store.Event
	cancel context.CancelFunc
	err    error // why the reading ended, after events is closed; nil: at the end of the log

	mu     sync.Mutex
	header store.Header // masked
	judge  Judge        // of the events so far; nil: none
}

// startReading starts to read a log; follow: until its recorder ends. cuts are the events to cut.
func (p *Push) startReading(ctx context.Context, id store.SessionID, follow bool, cuts map[uint64]int) *reading {
	ctx, cancel := context.WithCancel(ctx)
	r := &reading{events: make(chan store.Event), cancel: cancel}
	if p.options.Judge != nil {
		r.judge = p.options.Judge()
	}
	cuts = maps.Clone(cuts)
	go func() {
		defer close(r.events)
		r.err = p.readMasked(ctx, id, follow, cuts, r)
	}()
	return r
}

// stop ends the reading and waits for it.
func (r *reading) stop() {
	r.cancel()
	for range r.events {
	}
}

func (p *Push) readMasked(ctx context.Context, id store.SessionID, follow bool, cuts map[uint64]int, r *reading) error {
	mask := func(event store.Event) store.Event { return event }
	for event, err := range p.folder.Read(ctx, id, 1, store.ReadOptions{Follow: follow}) {
		if err != nil {
			return &localError{err}
		}
		if event.Seq == 1 {
			header, err := store.ParseHeader(event.Payload)
			if err == nil && p.options.Mask != nil {
				mask, err = p.options.Mask(header)
			}
			if err == nil && mask == nil {
				err = errors.New("there is none")
			}
			if err != nil {
				return &localError{fmt.Errorf("make the mask of session %s: %w", id, err)}
			}
		}
		event = mask(event)
		if size, ok := cuts[event.Seq]; ok {
			event, _ = cut(event, size)
		}
		if err := r.note(event); err != nil {
			return &localError{err}
		}
		select {
		case r.events <- event:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// note keeps what the entry of the session tells.
func (r *reading) note(event store.Event) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if event.Seq == 1 {
		if r.header, err = store.ParseHeader(event.Payload); err != nil {
			return err
		}
	}
	if r.judge != nil && r.judge.Apply(event) != nil {
		r.judge = nil // mcprec why says what is wrong with the log
	}
	return nil
}

// told returns the masked header, and for how long something has been stuck at a time of the machine's clock.
func (r *reading) told(now time.Time) (header store.Header, stuck time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.judge != nil && r.header.ID != "" {
		stuck = r.judge.Stuck(now.Sub(r.header.Start))
	}
	return r.header, stuck
}
