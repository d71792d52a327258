package jetstream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go"
	api "github.com/nats-io/nats.go/jetstream"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/chunk"
)

const (
	fewGets      = 6                // messages that are asked for one by one; a consumer costs about as much
	readAhead    = 4 << 20          // bytes that a consumer sends ahead
	consumerWait = time.Second      // for a message that is there
	lookEach     = time.Second      // how often a follower looks whether the session is live
	consumerIdle = 30 * time.Second // until the server forgets a consumer
)

// errStopped: the caller wants no more events.
var errStopped = errors.New("stopped")

// events yields the events of a session from Seq `from` up to end.
func (g *logs) events(ctx context.Context, end place, from uint64) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		r := &reader{logs: g, id: end.session.ID, from: from, yield: yield}
		defer r.stop()
		if err := r.until(ctx, end); err != nil && !errors.Is(err, errStopped) {
			yield(store.Event{}, err)
		}
	}
}

// reader reads the messages of a session in order.
type reader struct {
	logs  *logs
	meta  *meta // for following
	id    store.SessionID
	yield func(store.Event, error) bool
	from  uint64 // the next event to yield

	seq   uint64 // in the stream, of the newest message that was taken; 0: none
	next  uint64 // the event that the next message begins with; 0: any
	part  int    // of the chunk in parts
	parts []byte // its data so far

	stopConsumer func()
	consumer     api.MessagesContext // nil: none was made
}

// run yields the events up to the end of the log, and with follow those that come.
func (r *reader) run(ctx context.Context, follow bool) error {
	defer r.stop()
	end, err := r.logs.last(ctx, r.id)
	if err == nil && end.session.Head.Seq == 0 {
		err = store.ErrNotFound
	}
	if err == nil {
		err = r.until(ctx, end)
	}
	if err == nil && follow {
		err = r.follow(ctx, end)
	}
	return err
}

// until takes the messages up to end.
func (r *reader) until(ctx context.Context, end place) error {
	if r.from > end.session.Head.Seq {
		r.seq = end.seq
		r.next = end.session.Head.Seq + 1
		return nil
	}
	if r.seq == 0 && end.parts == 1 && len(end.data) > 0 && end.first <= r.from {
		return r.take(ctx, end)
	}
	if r.seq == 0 && r.from > 1 {
		if err := r.find(ctx, end); err != nil {
			return err
		}
	}
	for range fewGets {
		msg, err := r.ask(ctx)
		if err == nil {
			err = r.take(ctx, msg)
		}
		if err != nil || r.seq >= end.seq {
			return err
		}
	}
	for r.seq < end.seq {
		msg, err := r.receive(ctx, consumerWait)
		if err == nil && msg.seq == 0 {
			msg, err = r.ask(ctx)
		}
		if err == nil {
			err = r.take(ctx, msg)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ask asks the leader for the next message, which is there. A consumer that has not sent it is given
// up: its server may have missed the request, or lags behind.
func (r *reader) ask(ctx context.Context) (place, error) {
	r.stop()
	msg, err := r.logs.next(ctx, r.id, r.seq+1)
	if err == nil && msg.seq == 0 {
		err = r.gone(ctx)
	}
	return msg, err
}

// gone says why messages that were there are missing.
func (r *reader) gone(ctx context.Context) error {
	end, err := r.logs.last(ctx, r.id)
	switch {
	case err != nil:
		return err
	case end.seq == 0:
		return fmt.Errorf("deleted while it was read: %w", store.ErrNotFound)
	}
	return fmt.Errorf("messages behind event %d are missing: %w", max(r.next, 1)-1, store.ErrCorrupt)
}

// find sets the reader in front of the first message whose last event is r.from or later, by
// bisection over the sequences of the stream.
func (r *reader) find(ctx context.Context, end place) error {
	low, high := uint64(1), end.seq // the message has a sequence from low to high
	for low < high {
		middle := low + (high-low)/2
		msg, err := r.logs.next(ctx, r.id, middle)
		switch {
		case err != nil:
			return err
		case msg.seq == 0:
			return r.gone(ctx)
		case msg.session.Head.Seq < r.from:
			low = msg.seq + 1
		default:
			high = middle
			if msg.seq < high {
				high = msg.seq
			}
		}
	}
	r.seq = low - 1
	return nil
}

// take takes the next message and yields its events.
func (r *reader) take(ctx context.Context, msg place) error {
	if r.next == 0 { // the first message
		if msg.first > r.from && !msg.isFence() || msg.part != 1 {
			return fmt.Errorf("the log begins with event %d: %w", msg.first, store.ErrCorrupt)
		}
		r.next = msg.first
	}
	if msg.isFence() && msg.first < r.next && msg.session.Head.Seq == 0 {
		return fmt.Errorf("deleted while it was read: %w", store.ErrNotFound)
	}
	if msg.first != r.next || msg.part != r.part+1 {
		return fmt.Errorf("expected event %d, found event %d: %w", r.next, msg.first, store.ErrCorrupt)
	}
	r.seq = msg.seq
	if msg.isFence() {
		return nil
	}
	data := msg.data
	if msg.parts > 1 {
		r.part = msg.part
		r.parts = append(r.parts, data...)
		if msg.part < msg.parts {
			return nil
		}
		data = r.parts
		r.parts = nil
		r.part = 0
	}
	key, err := r.id.Bytes()
	if err != nil {
		return err
	}
	events, err := chunk.Decode(key, msg.first, data)
	if err == nil && msg.first+uint64(len(events)) != msg.session.Head.Seq+1 {
		err = fmt.Errorf("%d events in the place of %d: %w", len(events), msg.session.Head.Seq+1-msg.first, store.ErrCorrupt)
	}
	if err != nil {
		return fmt.Errorf("from event %d: %w", msg.first, err)
	}
	r.next = msg.session.Head.Seq + 1
	for _, event := range events {
		if event.Seq < r.from {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		r.from = event.Seq + 1
		if !r.yield(event, nil) {
			return errStopped
		}
	}
	return nil
}

// receive waits for the next message of a consumer; its seq is 0 if none comes in time.
func (r *reader) receive(ctx context.Context, wait time.Duration) (place, error) {
	if r.consumer == nil {
		if err := r.consume(ctx); err != nil {
			return place{}, err
		}
	}
	once, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	msg, err := r.consumer.Next(api.NextContext(once))
	switch {
	case ctx.Err() != nil:
		return place{}, ctx.Err()
	case err != nil && once.Err() != nil:
		return place{}, nil
	case err != nil:
		r.stop() // another consumer may do better
		return place{}, r.logs.retry(ctx, func(context.Context) error {
			if temporary(err) || errors.Is(err, api.ErrNoHeartbeat) || errors.Is(err, api.ErrMsgIteratorClosed) || errors.Is(err, api.ErrConsumerDeleted) {
				return nil
			}
			return err
		})
	}
	facts, err := msg.Metadata()
	if err != nil {
		return place{}, err
	}
	p, err := parseHeader(r.id, msg.Headers().Get(headerName))
	if err != nil {
		return p, fmt.Errorf("message %d: %w", facts.Sequence.Stream, err)
	}
	p.seq = facts.Sequence.Stream
	p.data = msg.Data()
	return p, nil
}

// consume makes an ordered consumer of the messages behind r.seq.
func (r *reader) consume(ctx context.Context) error {
	g := r.logs
	var consumer api.Consumer
	err := g.retry(ctx, func(ctx context.Context) (err error) {
		consumer, err = g.js.OrderedConsumer(ctx, g.stream, api.OrderedConsumerConfig{
			FilterSubjects: []string{g.prefix + string(r.id)}, DeliverPolicy: api.DeliverByStartSequencePolicy,
			OptStartSeq: r.seq + 1, InactiveThreshold: consumerIdle,
		})
		return err
	})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(api.PullMaxBytes(readAhead))
	if err != nil {
		return err
	}
	r.consumer = messages
	// The consumer may wait for a server by itself, whatever the context says.
	stopWithContext := context.AfterFunc(ctx, messages.Stop)
	r.stopConsumer = func() {
		stopWithContext()
		messages.Stop()
		if info := consumer.CachedInfo(); info != nil && g.conn.Status() == nats.CONNECTED {
			// The server forgets it by itself, too.
			ctx, cancel := context.WithTimeout(context.Background(), requestTime)
			defer cancel()
			_ = g.js.DeleteConsumer(ctx, g.stream, info.Name)
		}
	}
	return nil
}

// stop ends the consumer.
func (r *reader) stop() {
	if r.stopConsumer != nil {
		r.stopConsumer()
		r.stopConsumer = nil
		r.consumer = nil
	}
}

// follow takes messages until the log is sealed or nobody holds the session any more.
func (r *reader) follow(ctx context.Context, end place) error {
	sealed := end.session.Head.Sealed
	var looked time.Time
	for !sealed {
		if time.Since(looked) >= lookEach {
			live, err := r.live(ctx)
			if err != nil {
				return err
			}
			looked = time.Now()
			if !live {
				end, err := r.logs.last(ctx, r.id)
				if err != nil || end.seq <= r.seq {
					return err
				}
				return r.until(ctx, end)
			}
		}
		msg, err := r.receive(ctx, lookEach)
		if err == nil && msg.seq == 0 {
			msg, err = r.logs.next(ctx, r.id, r.seq+1)
			if err == nil && msg.seq != 0 {
				r.stop() // the consumer has missed it
			}
		}
		switch {
		case err != nil:
			return err
		case msg.seq == 0:
			continue
		}
		if err := r.take(ctx, msg); err != nil {
			return err
		}
		sealed = msg.session.Head.Sealed
	}
	return nil
}

// live reports whether a claim holds the session.
func (r *reader) live(ctx context.Context) (bool, error) {
	e, err := r.meta.entry(ctx, r.id)
	if err != nil {
		return false, err
	}
	return r.meta.live(ctx, e)
}
