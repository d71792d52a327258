package stream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	api "github.com/nats-io/nats.go/jetstream"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/chunk"
)

const (
	maxMessage  = 512 << 10 // of a chunk in a message
	minMessage  = 16 << 10
	headerRoom  = 4 << 10 // of max_payload, for the headers
	maxBatch    = 1000    // messages of an atomic batch: the server's default limit
	ackEach     = 8       // messages of a batch, so that the server is not flooded
	resendAfter = 50 * time.Millisecond
	resendFor   = 10 * time.Second
	maxTries    = 50 // against other writers of the same session
)

// ErrTooLarge: the stream takes no event, or no call, of this size.
var ErrTooLarge = errors.New("larger than the stream takes")

// Append adds events after Seq `after`, all or none. It accepts events of the log again if they are equal; for
// other events, and for `after` past the head, the error is a *store.ConflictError. When its outcome is
// unknown, as after a broken connection, it may be repeated with the same events.
func (s *Stream) Append(ctx context.Context, id store.SessionID, after uint64, events []store.Event) (store.Head, error) {
	for i := range events {
		if want := after + uint64(i) + 1; events[i].Seq != want {
			return store.Head{}, fmt.Errorf("append to session %s: event %d: expected event %d", id, events[i].Seq, want)
		}
	}
	end, known := s.endOf(id)
	for range maxTries {
		var err error
		if !known {
			end, err = s.last(ctx, id)
		}
		if err == nil {
			end, err = s.appendBehind(ctx, id, end, after, events)
		}
		conflict := (*store.ConflictError)(nil)
		switch {
		case err == nil:
			s.setEnd(id, end)
			return end.head, nil
		case errors.As(err, &conflict):
			s.forgetEnd(id)
			return conflict.Head, err
		case !errors.Is(err, errMoved):
			s.forgetEnd(id)
			return store.Head{}, fmt.Errorf("append to session %s: %w", id, err)
		}
		known = false
	}
	return store.Head{}, fmt.Errorf("append to session %s: %w", id, errMoved)
}

// appendBehind appends the events that a log that ends at end does not have yet, and returns the new end.
func (s *Stream) appendBehind(ctx context.Context, id store.SessionID, end place, after uint64, events []store.Event) (place, error) {
	conflict := &store.ConflictError{ID: id, Head: end.head}
	if after > end.head.Seq {
		return end, conflict
	}
	known := min(uint64(len(events)), end.head.Seq-after)
	if known > 0 {
		same, err := s.same(ctx, id, end, events[:known])
		if err != nil {
			return end, err
		}
		if !same {
			return end, conflict
		}
	}
	fresh := events[known:]
	switch {
	case len(fresh) == 0:
		return end, nil
	case end.head.Sealed:
		return end, conflict
	}
	next, messages, err := s.pack(id, end, fresh)
	if err != nil {
		return end, err
	}
	switch {
	case len(messages) > maxBatch:
		return end, fmt.Errorf("%d events are %d messages of %d KiB, and one append has %d at most: %w",
			len(fresh), len(messages), s.room>>10, maxBatch, ErrTooLarge)
	case len(messages) > 1 && !s.batches:
		return end, fmt.Errorf("%d events need %d messages, and the stream takes no atomic batches: use NATS server 2.12 or newer, and set allow_atomic of stream %s to true: %w",
			len(fresh), len(messages), s.chunks, ErrTooLarge)
	}
	return s.send(ctx, id, end, next, messages)
}

// same reports whether events are those of the log, which ends at end or later.
func (s *Stream) same(ctx context.Context, id store.SessionID, end place, events []store.Event) (bool, error) {
	i := 0
	for event, err := range s.until(ctx, id, end, events[0].Seq) {
		if err != nil {
			return false, err
		}
		if !event.Equal(events[i]) {
			return false, nil
		}
		if i++; i == len(events) {
			return true, nil
		}
	}
	return false, fmt.Errorf("the log ends before event %d: %w", events[i].Seq, store.ErrCorrupt)
}

// pack makes the messages of events behind end, and returns the place of the last one, still without its
// sequence.
func (s *Stream) pack(id store.SessionID, end place, events []store.Event) (next place, messages []*nats.Msg, err error) {
	key, err := id.Bytes()
	if err != nil {
		return end, nil, err
	}
	next = place{head: end.head}
	for run := range chunk.Split(events, s.room) {
		for i := range run {
			if next.head, err = next.head.Next(run[i]); err != nil {
				return end, nil, err
			}
		}
		next.first = run[0].Seq
		data := chunk.Encode(key, run)
		next.parts = (len(data) + s.room - 1) / s.room
		for next.part = 1; next.part <= next.parts; next.part++ {
			msg := nats.NewMsg(s.chunkSubject(id))
			msg.Header.Set(headerName, next.header())
			size := min(s.room, len(data))
			msg.Data = data[:size]
			data = data[size:]
			messages = append(messages, msg)
		}
		next.part = next.parts
	}
	return next, messages, nil
}

// send publishes messages behind end, all or none, and finds out what became of them: they are stored, by this
// writer or by another with the same log, or another message was first (errMoved), or it cannot be known.
func (s *Stream) send(ctx context.Context, id store.SessionID, end, next place, messages []*nats.Msg) (place, error) {
	if len(messages) == 1 {
		messages[0].Header.Set(api.MsgIDHeader, string(id)+"."+strconv.FormatUint(next.first, 10))
	}
	for began := time.Now(); ; {
		seq, err := s.put(ctx, messages, end.seq)
		if err == nil {
			next.seq = seq
			return next, nil
		}
		if !errors.Is(err, errMoved) && !errors.Is(err, errUnknown) {
			return end, err
		}
		now, lookError := s.last(ctx, id)
		switch {
		case lookError != nil:
			return end, fmt.Errorf("%w; nor where the log ends: %w", err, lookError)
		case now.seq != end.seq && now.head == next.head && now.first == next.first:
			return now, nil
		case now.seq != end.seq:
			return end, errMoved
		case time.Since(began) > resendFor:
			return end, fmt.Errorf("%w: JetStream does not take it: %w", errUnknown, explain(err))
		}
		// The message is not there, and if it comes after all, this one is refused. The server may
		// remember the id of a message that it has lost.
		messages[0].Header.Del(api.MsgIDHeader)
		if err := pause(ctx, resendAfter); err != nil {
			return end, fmt.Errorf("%w: %w", errUnknown, err)
		}
	}
}

// put publishes messages once; several as an atomic batch (NATS architecture decision 50). The errors
// are those of publish.
func (s *Stream) put(ctx context.Context, messages []*nats.Msg, last uint64) (seq uint64, err error) {
	if len(messages) == 1 {
		return s.publish(ctx, messages[0], last)
	}
	began := time.Now()
	batch := rand.Text()
	for i, msg := range messages {
		msg.Header.Set("Nats-Batch-Id", batch)
		msg.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
		if i == 0 {
			msg.Header.Set(api.ExpectedLastSubjSeqHeader, strconv.FormatUint(last, 10))
		}
		switch {
		case i == len(messages)-1:
			msg.Header.Set("Nats-Batch-Commit", "1")
			once, cancel := context.WithTimeout(ctx, publishTime)
			ack, err := s.js.PublishMsg(once, msg, api.WithRetryAttempts(0))
			cancel()
			return s.outcome(ctx, ack, err, began)
		case i%ackEach == 0:
			err = s.stage(ctx, msg)
		default:
			err = s.conn.PublishMsg(msg)
		}
		if err != nil {
			return s.outcome(ctx, nil, err, began)
		}
	}
	return 0, errors.New("unreachable: an append of no messages")
}

// stage publishes a message of a batch and waits until the server has it.
func (s *Stream) stage(ctx context.Context, msg *nats.Msg) error {
	once, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	answer, err := s.conn.RequestMsgWithContext(once, msg)
	if err != nil || len(answer.Data) == 0 {
		return err
	}
	var got struct {
		Error *api.APIError `json:"error"`
	}
	if err := json.Unmarshal(answer.Data, &got); err != nil || got.Error == nil {
		return api.ErrInvalidJSAck
	}
	return got.Error
}
