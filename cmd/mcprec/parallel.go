package main

import (
	"iter"
	"runtime"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/store"
)

// parsedEvent is an event with what a frame says.
type parsedEvent struct {
	store.Event
	order.Parsed
}

// parseAhead yields the events of a log in their order, and parses their frames on
// the other cores meanwhile: parsing takes longer than all the rest.
func parseAhead(events iter.Seq2[store.Event, error]) iter.Seq2[parsedEvent, error] {
	return workAhead(events, func(e store.Event) parsedEvent {
		parsed := parsedEvent{Event: e}
		if e.Kind == store.Frame {
			parsed.Parsed = order.Parse(e.AsFrame())
		}
		return parsed
	})
}

// A batch is this many events at most, and few more bytes than this: what is made
// ahead is bounded in both.
const (
	batchEvents = 512
	batchBytes  = 1 << 18
)

// workAhead yields what is made of the events of a log, in their order. It is made on
// the other cores.
func workAhead[T any](events iter.Seq2[store.Event, error], work func(store.Event) T) iter.Seq2[T, error] {
	type worked struct {
		event store.Event
		made  T
		err   error // that the log ends with
	}
	return func(yield func(T, error) bool) {
		queue := make(chan chan []worked, runtime.GOMAXPROCS(0)) // of batches in their order, each on a channel of its own
		enough := make(chan struct{})
		send := func(batch []worked) bool {
			done := make(chan []worked, 1)
			go func() {
				for i := range batch {
					if w := &batch[i]; w.err == nil {
						w.made = work(w.event)
					}
				}
				done <- batch
			}()
			select {
			case <-enough:
				<-done
				return false
			case queue <- done:
				return true
			}
		}
		go func() {
			defer close(queue)
			var batch []worked
			size := 0
			for e, err := range events {
				batch = append(batch, worked{event: e, err: err})
				if size += len(e.Payload); len(batch) < batchEvents && size < batchBytes {
					continue
				}
				if !send(batch) {
					return
				}
				batch, size = nil, 0
			}
			if len(batch) > 0 {
				send(batch)
			}
		}()
		defer func() { // until the reader has left the log
			close(enough)
			for batch := range queue {
				<-batch
			}
		}()
		for batch := range queue {
			for _, w := range <-batch {
				if !yield(w.made, w.err) {
					return
				}
			}
		}
	}
}
