// Package parallel works on the events of a log on several cores, and yields the results in
// the order of the events.
package parallel

import (
	"iter"
	"runtime"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/store"
)

// Event is an event with the messages of its frame.
type Event struct {
	store.Event
	order.Parsed
}

// Parse yields the events of a log in their order, with their frames parsed on the other
// cores: parsing takes longer than the rest of a check.
func Parse(events iter.Seq2[store.Event, error]) iter.Seq2[Event, error] {
	return Map(events, func(event store.Event) Event {
		parsed := Event{Event: event}
		if event.Kind == store.Frame {
			parsed.Parsed = order.Parse(event.AsFrame())
		}
		return parsed
	})
}

// A batch has at most so many events, and few more bytes than these.
const (
	batchEvents = 512
	batchBytes  = 1 << 18
)

// Map calls work for the events of a log on the other cores, and yields the results in
// the order of the events.
func Map[T any](events iter.Seq2[store.Event, error], work func(store.Event) T) iter.Seq2[T, error] {
	type worked struct {
		event store.Event
		made  T
		err   error // of the log, after its last event
	}
	return func(yield func(T, error) bool) {
		queue := make(chan chan []worked, runtime.GOMAXPROCS(0)) // a channel for each batch, in their order
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
		defer func() { // wait until nothing reads the log
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
