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
	err error // of the log: the last of a sequence
}

// A batch is this many events at most, and few more bytes than this: what is parsed
// ahead is bounded in both.
const (
	batchEvents = 512
	batchBytes  = 1 << 18
)

// parseAhead yields the events of a log in their order, and parses their frames on
// the other cores meanwhile: parsing takes longer than all the rest.
func parseAhead(events iter.Seq2[store.Event, error]) iter.Seq2[parsedEvent, error] {
	return func(yield func(parsedEvent, error) bool) {
		queue := make(chan chan []parsedEvent, runtime.GOMAXPROCS(0))
		enough := make(chan struct{})
		go readAhead(events, queue, enough)
		defer func() { // until the reader has left the log
			close(enough)
			for parsed := range queue {
				<-parsed
			}
		}()
		for parsed := range queue {
			for _, e := range <-parsed {
				if !yield(e, e.err) {
					return
				}
			}
		}
	}
}

// readAhead hands batches on in their order, each as a channel on which it comes when
// it is parsed.
func readAhead(events iter.Seq2[store.Event, error], queue chan<- chan []parsedEvent, enough <-chan struct{}) {
	defer close(queue)
	var batch []parsedEvent
	size := 0
	send := func() bool {
		parsed := make(chan []parsedEvent, 1)
		go parseBatch(batch, parsed)
		batch, size = nil, 0
		select {
		case <-enough:
			<-parsed
			return false
		case queue <- parsed:
			return true
		}
	}
	for e, err := range events {
		batch = append(batch, parsedEvent{Event: e, err: err})
		size += len(e.Payload)
		if (len(batch) == batchEvents || size >= batchBytes) && !send() {
			return
		}
	}
	if len(batch) > 0 {
		send()
	}
}

func parseBatch(batch []parsedEvent, parsed chan<- []parsedEvent) {
	for i := range batch {
		if e := &batch[i]; e.err == nil && e.Kind == store.Frame {
			e.Parsed = order.Parse(e.AsFrame())
		}
	}
	parsed <- batch
}
