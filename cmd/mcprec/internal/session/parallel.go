package session

import (
	"context"
	"iter"
	"runtime"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Worked is an event, and what was made of it.
type Worked[T any] struct {
	store.Event
	Made T
}

// Parsed are the messages of a frame that was parsed on another core.
type Parsed struct {
	Messages []transport.Message // good until the next Parse
	IsJSON   bool
}

// Parse parses an event, if it is a frame, in the memory of the event that p was before.
func (p *Parsed) Parse(event *store.Event) {
	p.IsJSON = false
	p.Messages = p.Messages[:0]
	if event.Kind == store.Frame {
		messages, err := event.AsFrame().AppendMessages(p.Messages)
		p.Messages = messages
		p.IsJSON = err == nil
	}
}

// Steps yields the steps of the session for a view that quotes few messages: see [Session.Reading].
func (s *Session) Steps(ctx context.Context, options store.ReadOptions) iter.Seq2[timeline.Step, error] {
	return Steps(s.Reading(ctx, options))
}

// Steps is [timeline.Steps] of a model with a mask. The frames are parsed on the other cores, which takes as long as a
// reader of the steps.
func Steps(events iter.Seq2[store.Event, error], mask timeline.Mask) iter.Seq2[timeline.Step, error] {
	return func(yield func(timeline.Step, error) bool) {
		model := timeline.NewModel(timeline.Remembered)
		model.Masked(mask)
		for e, err := range MapEvents(events, func(event *store.Event, parsed *Parsed) { parsed.Parse(event) }) {
			var step timeline.Step
			if err == nil {
				step = model.TakeParsed(e.Event, e.Made.Messages, e.Made.IsJSON)
			}
			if !yield(step, err) {
				return
			}
		}
	}
}

// A batch has at most so many events, and few more bytes than these.
const (
	batchEvents = 512
	batchBytes  = 1 << 18
)

// MapEvents calls work for the events of a log on the other cores, and yields the results in the
// order of the events. made is the zero T, or holds an earlier result, which work replaces, and
// whose memory it may use again if the caller needs a result only until the next one.
func MapEvents[T any](events iter.Seq2[store.Event, error], work func(event *store.Event, made *T)) iter.Seq2[Worked[T], error] {
	type batch struct {
		events []Worked[T]
		err    error // of the log, after the last event
		done   chan struct{}
	}
	return func(yield func(Worked[T], error) bool) {
		limit := runtime.GOMAXPROCS(0)
		queue := make(chan *batch, limit) // in the order of the events
		used := make(chan *batch, limit+2)
		enough := make(chan struct{})
		send := func(b *batch) bool {
			go func() {
				for i := range b.events {
					work(&b.events[i].Event, &b.events[i].Made)
				}
				b.done <- struct{}{}
			}()
			select {
			case <-enough:
				<-b.done
				return false
			case queue <- b:
				return true
			}
		}
		next := func() *batch {
			select {
			case b := <-used:
				b.events = b.events[:0]
				return b
			default:
				return &batch{events: make([]Worked[T], 0, batchEvents), done: make(chan struct{}, 1)}
			}
		}
		go func() {
			defer close(queue)
			b, size := next(), 0
			for e, err := range events {
				if err != nil {
					b.err = err
					break
				}
				b.events = b.events[:len(b.events)+1] // with what an earlier batch made
				b.events[len(b.events)-1].Event = e
				if size += len(e.Payload); len(b.events) < batchEvents && size < batchBytes {
					continue
				}
				if !send(b) {
					return
				}
				b, size = next(), 0
			}
			send(b)
		}()
		defer func() { // wait until nothing reads the log
			close(enough)
			for b := range queue {
				<-b.done
			}
		}()
		for b := range queue {
			<-b.done
			for i := range b.events {
				if !yield(b.events[i], nil) {
					return
				}
			}
			if b.err != nil && !yield(Worked[T]{}, b.err) {
				return
			}
			select {
			case used <- b:
			default:
			}
		}
	}
}
