package jetstream

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
)

// logs is the stream of the chunks.
type logs struct {
	*link
	stream  string
	prefix  string // of the subjects, before the session's id
	room    int    // of a message, in bytes of a chunk
	batches bool   // the stream takes atomic batches
}

// last returns the last message of a session, from the leader; its seq is 0 if there is none.
func (g *logs) last(ctx context.Context, id store.SessionID) (place, error) {
	return g.ask(ctx, id, getRequest{LastFor: g.prefix + string(id)})
}

// next returns the first message of a session from a sequence of the stream on; its seq is 0 if
// there is none.
func (g *logs) next(ctx context.Context, id store.SessionID, seq uint64) (place, error) {
	return g.ask(ctx, id, getRequest{Seq: seq, NextFor: g.prefix + string(id)})
}

func (g *logs) ask(ctx context.Context, id store.SessionID, request getRequest) (place, error) {
	msg, err := g.get(ctx, g.stream, request)
	if err != nil || msg == nil {
		return place{session: store.Session{Header: store.Header{ID: id}}}, err
	}
	return parsePlace(id, msg)
}

// purge removes the messages that match a subject, but for the newest `keep`.
func (l *link) purge(ctx context.Context, stream, subject string, keep uint64) error {
	return l.retry(ctx, func(ctx context.Context) error {
		handle, err := l.js.Stream(ctx, stream)
		if err != nil {
			return err
		}
		return handle.Purge(ctx, api.WithPurgeSubject(subject), api.WithPurgeKeep(keep))
	})
}

// fence puts a message without events behind the session's last one, so that no message can follow
// that was made before. Messages that come first are found. It returns the new end.
func (g *logs) fence(ctx context.Context, end place, writer string) (place, error) {
	for {
		mark := place{first: end.session.Head.Seq + 1, part: 1, parts: 1, writer: writer, session: end.session}
		next, err := g.send(ctx, end, mark, []*nats.Msg{g.message(&mark, nil)})
		if !errors.Is(err, errMoved) {
			return next, err
		}
		end = next
	}
}

// message makes the message of a part of a chunk.
func (g *logs) message(at *place, data []byte) *nats.Msg {
	id := at.session.ID
	msg := nats.NewMsg(g.prefix + string(id))
	msg.Header.Set(headerName, at.header(id))
	msg.Data = data
	return msg
}

// append adds events behind end, all or none, and returns the new end. The events continue the log.
// After errMoved the returned place is the end that was found instead.
func (g *logs) append(ctx context.Context, end place, events []store.Event, writer string) (place, error) {
	next, messages, err := g.pack(end, events, writer)
	if err != nil {
		return end, err
	}
	switch {
	case len(messages) > maxBatch:
		return end, fmt.Errorf("%d events are %d messages of %d KiB, and one append has %d at most: %w",
			len(events), len(messages), g.room>>10, maxBatch, store.ErrTooLarge)
	case len(messages) > 1 && !g.batches:
		return end, fmt.Errorf("%d events need %d messages, and the stream takes no atomic batches: use NATS server 2.12 or newer, and set allow_atomic of stream %s to true: %w",
			len(events), len(messages), g.stream, store.ErrTooLarge)
	}
	return g.send(ctx, end, next, messages)
}

// pack makes the messages of events behind end, and returns the place of the last one, still
// without its sequence.
func (g *logs) pack(end place, events []store.Event, writer string) (next place, messages []*nats.Msg, err error) {
	id := end.session.ID
	key, err := id.Bytes()
	if err != nil {
		return end, nil, err
	}
	next = place{writer: writer, session: end.session}
	for run := range chunk.Split(events, g.room) {
		if next.session, err = count(next.session, run); err != nil {
			return end, nil, err
		}
		next.first = run[0].Seq
		data := chunk.Encode(key, run)
		next.parts = (len(data) + g.room - 1) / g.room
		for next.part = 1; next.part <= next.parts; next.part++ {
			size := min(g.room, len(data))
			messages = append(messages, g.message(&next, data[:size]))
			data = data[size:]
		}
		next.part = next.parts
	}
	return next, messages, nil
}

// count adds events to the head and the counts of a session.
func count(session store.Session, events []store.Event) (store.Session, error) {
	id := session.ID
	for i := range events {
		head, err := session.Head.Next(events[i])
		if err != nil {
			return session, err
		}
		if err := session.Count(events[i]); err != nil {
			return session, err
		}
		session.Head = head
		if events[i].Kind == store.Opened {
			named, err := store.ParseSessionID(string(session.ID))
			if err != nil || named != id {
				return session, fmt.Errorf("its header names session %s", session.ID)
			}
		}
		session.ID = id
	}
	return session, nil
}

// send publishes messages behind end, all or none, and finds out what became of them: they are
// stored, or another message was first (errMoved, and where the log ends), or it cannot be known.
func (g *logs) send(ctx context.Context, end, next place, messages []*nats.Msg) (place, error) {
	id := end.session.ID
	if len(messages) == 1 && !next.isFence() {
		messages[0].Header.Set(api.MsgIDHeader, string(id)+"."+strconv.FormatUint(next.first, 10))
	}
	for began := time.Now(); ; {
		seq, err := g.put(ctx, messages, end.seq)
		if err == nil {
			next.seq = seq
			return next, nil
		}
		if !errors.Is(err, errMoved) && !errors.Is(err, errUnknown) {
			return end, err
		}
		now, lookError := g.last(ctx, id)
		switch {
		case lookError != nil:
			return end, fmt.Errorf("%w; nor where the log ends: %w", err, lookError)
		case now.seq != end.seq && now.writer == next.writer && now.session.Head == next.session.Head && now.first == next.first:
			next.seq = now.seq
			return next, nil
		case now.seq != end.seq:
			return now, errMoved
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
func (g *logs) put(ctx context.Context, messages []*nats.Msg, last uint64) (seq uint64, err error) {
	if len(messages) == 1 {
		return g.publish(ctx, messages[0], last)
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
			ack, err := g.js.PublishMsg(once, msg, api.WithRetryAttempts(0))
			cancel()
			return g.outcome(ctx, ack, err, began)
		case i%ackEach == 0:
			err = g.stage(ctx, msg)
		default:
			err = g.conn.PublishMsg(msg)
		}
		if err != nil {
			return g.outcome(ctx, nil, err, began)
		}
	}
	return 0, errors.New("unreachable: an append of no messages")
}

// stage publishes a message of a batch and waits until the server has it.
func (g *logs) stage(ctx context.Context, msg *nats.Msg) error {
	once, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	answer, err := g.conn.RequestMsgWithContext(once, msg)
	if err != nil || len(answer.Data) == 0 {
		return err
	}
	return stageError(answer.Data)
}

// stageError reads the answer to a message of a batch that the server has refused.
func stageError(data []byte) error {
	var got struct {
		Error *api.APIError `json:"error"`
	}
	if err := json.Unmarshal(data, &got); err != nil || got.Error == nil {
		return api.ErrInvalidJSAck
	}
	return got.Error
}
