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

// worked is an event with what was made of it, or the error that the log ends with.
type worked[T any] struct {
	event store.Event
	made  T
	err   error
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
	return func(yield func(T, error) bool) {
		queue := make(chan chan []worked[T], runtime.GOMAXPROCS(0))
		enough := make(chan struct{})
		go readAhead(events, work, queue, enough)
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

// readAhead hands batches on in their order, each as a channel on which it comes when
// it is made.
func readAhead[T any](events iter.Seq2[store.Event, error], work func(store.Event) T, queue chan<- chan []worked[T], enough <-chan struct{}) {
	defer close(queue)
	var batch []worked[T]
	size := 0
	send := func() bool {
		done := make(chan []worked[T], 1)
		go workBatch(batch, work, done)
		batch, size = nil, 0
		select {
		case <-enough:
			<-done
			return false
		case queue <- done:
			return true
		}
	}
	for e, err := range events {
		batch = append(batch, worked[T]{event: e, err: err})
		size += len(e.Payload)
		if (len(batch) == batchEvents || size >= batchBytes) && !send() {
			return
		}
	}
	if len(batch) > 0 {
		send()
	}
}

func workBatch[T any](batch []worked[T], work func(store.Event) T, done chan<- []worked[T]) {
	for i := range batch {
		if w := &batch[i]; w.err == nil {
			w.made = work(w.event)
		}
	}
	done <- batch
}
