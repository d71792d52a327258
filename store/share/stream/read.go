package stream

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
	lookEach     = time.Second      // how often a follower looks whether it has missed something
	consumerIdle = 30 * time.Second // until the server forgets a consumer
)

// ErrBeginningGone: the stream has dropped the first events of a session, which were too old for it.
var ErrBeginningGone = errors.New("its beginning is no longer in the stream")

// errStopped: the caller wants no more events.
var errStopped = errors.New("stopped")

// Read yields the events of a session from Seq `from`, in order and without gaps, and while live returns true
// those that come. nil: it follows nothing. An error ends the sequence: store.ErrNotFound, ErrBeginningGone,
// store.ErrCorrupt, or that of the connection, after which a later Read may go on.
func (s *Stream) Read(ctx context.Context, id store.SessionID, from uint64, live func() bool) iter.Seq2[store.Event, error] {
	return s.reading(id, from, func(r *reader) error {
		end, err := s.last(ctx, id)
		if err == nil && end.seq == 0 {
			err = store.ErrNotFound
		}
		if err == nil {
			err = r.until(ctx, end)
		}
		if err == nil && live != nil && !end.head.Sealed {
			err = r.follow(ctx, live)
		}
		return err
	})
}

// until yields the events of a session from Seq `from` up to end.
func (s *Stream) until(ctx context.Context, id store.SessionID, end place, from uint64) iter.Seq2[store.Event, error] {
	return s.reading(id, from, func(r *reader) error { return r.until(ctx, end) })
}

func (s *Stream) reading(id store.SessionID, from uint64, run func(r *reader) error) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		r := &reader{Stream: s, id: id, from: max(from, 1), yield: yield}
		defer r.stop()
		if err := run(r); err != nil && !errors.Is(err, errStopped) {
			yield(store.Event{}, fmt.Errorf("read session %s: %w", id, err))
		}
	}
}

// reader reads the messages of a session in order.
type reader struct {
	*Stream
	id    store.SessionID
	yield func(store.Event, error) bool
	from  uint64 // the next event to yield

	seq   uint64     // in the stream, of the newest message that was taken; 0: none
	head  store.Head // of the log behind that message; its Chain is known if the log was read from its first event
	part  int        // of the chunk in parts
	parts []byte     // its data so far

	stopConsumer func()
	consumer     api.MessagesContext // nil: none was made
}

// until takes the messages up to end.
func (r *reader) until(ctx context.Context, end place) error {
	if r.from > end.head.Seq {
		r.seq = end.seq
		r.head = end.head
		return nil
	}
	if r.seq == 0 && end.parts == 1 && len(end.data) > 0 && end.first <= r.from && r.from > 1 {
		return r.take(ctx, end)
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
	msg, err := r.next(ctx, r.id, r.seq+1)
	if err == nil && msg.seq == 0 {
		err = fmt.Errorf("deleted while it was read: %w", store.ErrNotFound)
	}
	return msg, err
}

// take takes the next message and yields its events.
func (r *reader) take(ctx context.Context, msg place) error {
	first := r.head.Seq == 0 && r.part == 0
	switch {
	case first && msg.first > 1 && r.from < msg.first:
		return ErrBeginningGone
	case first && msg.part == 1, msg.first == r.head.Seq+1 && msg.part == r.part+1:
	default:
		return fmt.Errorf("expected event %d, found event %d: %w", r.head.Seq+1, msg.first, store.ErrCorrupt)
	}
	r.seq = msg.seq
	data := msg.data
	if msg.parts > 1 {
		if len(r.parts)+len(data) > maxBatch*maxMessage { // no append has written them
			return fmt.Errorf("event %d: its parts have more than %d MB, as none has: %w", msg.first, maxBatch*maxMessage/1_000_000, store.ErrCorrupt)
		}
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
	if err == nil && msg.first+uint64(len(events)) != msg.head.Seq+1 {
		err = fmt.Errorf("%d events in the place of %d: %w", len(events), msg.head.Seq+1-msg.first, store.ErrCorrupt)
	}
	if err == nil && msg.first == r.head.Seq+1 { // else the chain before it is not known
		for _, event := range events {
			if r.head, err = r.head.Next(event); err != nil {
				break
			}
		}
		if err == nil && r.head != msg.head {
			err = fmt.Errorf("hash chain: %w", store.ErrCorrupt)
		}
	}
	if err != nil {
		return fmt.Errorf("from event %d: %w", msg.first, err)
	}
	r.head = msg.head
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
		return place{}, r.lastingError(ctx, err)
	}
	facts, err := msg.Metadata()
	if err != nil {
		return place{}, err
	}
	p, err := parseHeader(msg.Headers().Get(headerName))
	if err != nil {
		return p, fmt.Errorf("message %d: %w", facts.Sequence.Stream, err)
	}
	p.seq = facts.Sequence.Stream
	p.data = msg.Data()
	return p, nil
}

// lastingError returns the error of a consumer, or nil if another one may do better.
func (l *link) lastingError(ctx context.Context, err error) error {
	return l.retry(ctx, func(context.Context) error {
		if temporary(err) || errors.Is(err, api.ErrNoHeartbeat) || errors.Is(err, api.ErrMsgIteratorClosed) || errors.Is(err, api.ErrConsumerDeleted) {
			return nil
		}
		return err
	})
}

// consume makes an ordered consumer of the messages behind r.seq.
func (r *reader) consume(ctx context.Context) (err error) {
	r.consumer, r.stopConsumer, err = r.link.consume(ctx, r.chunks, api.OrderedConsumerConfig{
		FilterSubjects: []string{r.chunkSubject(r.id)}, DeliverPolicy: api.DeliverByStartSequencePolicy,
		OptStartSeq: r.seq + 1, InactiveThreshold: consumerIdle,
	})
	return err
}

// consume makes an ordered consumer of a stream. The caller calls stop.
func (l *link) consume(ctx context.Context, stream string, config api.OrderedConsumerConfig) (messages api.MessagesContext, stop func(), err error) {
	var consumer api.Consumer
	err = l.retry(ctx, func(ctx context.Context) (err error) {
		consumer, err = l.js.OrderedConsumer(ctx, stream, config)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if messages, err = consumer.Messages(api.PullMaxBytes(readAhead)); err != nil {
		return nil, nil, err
	}
	// The consumer may wait for a server by itself, whatever the context says.
	stopWithContext := context.AfterFunc(ctx, messages.Stop)
	return messages, func() {
		stopWithContext()
		messages.Stop()
		if info := consumer.CachedInfo(); info != nil && l.conn.Status() == nats.CONNECTED {
			// The server forgets it by itself, too.
			ctx, cancel := context.WithTimeout(context.Background(), requestTime)
			defer cancel()
			_ = l.js.DeleteConsumer(ctx, stream, info.Name)
		}
	}, nil
}

// stop ends the consumer.
func (r *reader) stop() {
	if r.stopConsumer != nil {
		r.stopConsumer()
		r.stopConsumer = nil
		r.consumer = nil
	}
}

// follow takes messages until the log is sealed, or nobody follows its recorder any more.
func (r *reader) follow(ctx context.Context, live func() bool) error {
	for !r.head.Sealed {
		wasLive := live()
		msg, err := r.receive(ctx, lookEach)
		if err == nil && msg.seq == 0 {
			var end place
			end, err = r.last(ctx, r.id)
			switch {
			case err != nil:
			case end.seq < r.seq: // a power cut took back what the servers had acknowledged; it comes again
				r.stop()
				r.seq = 0
				r.head = store.Head{}
				r.part = 0
				r.parts = nil
				if end.seq == 0 {
					if !wasLive {
						return nil
					}
					continue
				}
				err = r.until(ctx, end)
			case end.seq > r.seq: // the consumer has missed it
				r.stop()
				err = r.until(ctx, end)
			case !wasLive:
				return nil
			}
			if err != nil {
				return err
			}
			continue
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
