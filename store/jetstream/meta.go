package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	api "github.com/nats-io/nats.go/jetstream"

	"github.com/mcprec/mcprec/store"
)

// meta is the stream of the entries.
type meta struct {
	*link
	stream string
	prefix string // of the subjects, before the session's id
}

// entry returns the entry of a session, from the leader; its seq is 0 if there is none.
func (m *meta) entry(ctx context.Context, id store.SessionID) (entry, error) {
	msg, err := m.get(ctx, m.stream, getRequest{LastFor: m.prefix + string(id)})
	if err != nil || msg == nil {
		return entry{session: store.Session{Header: store.Header{ID: id}}}, err
	}
	e, header, err := decodeEntry(id, msg.Data)
	if err != nil {
		return e, err
	}
	e.seq = msg.Seq
	e.time = msg.Time
	return e, e.takeHeader(header)
}

// put stores an entry in the place of the one with the sequence e.seq, and returns its sequence. errMoved
// if another entry stands there.
func (m *meta) put(ctx context.Context, e entry) (seq uint64, err error) {
	id := e.session.ID
	data := e.encode(id)
	for began := time.Now(); ; {
		seq, err := m.publish(ctx, &nats.Msg{Subject: m.prefix + string(id), Header: nats.Header{}, Data: data}, e.seq)
		if err == nil || !errors.Is(err, errMoved) && !errors.Is(err, errUnknown) {
			return seq, err
		}
		found, lookError := m.get(ctx, m.stream, getRequest{LastFor: m.prefix + string(id)})
		switch {
		case lookError != nil:
			return 0, fmt.Errorf("%w; nor what the entry is: %w", err, lookError)
		case found != nil && found.Seq != e.seq && bytes.Equal(found.Data, data):
			return found.Seq, nil // the token in it is this writer's
		case found != nil && found.Seq != e.seq, found == nil && e.seq != 0:
			return 0, errMoved
		case time.Since(began) > resendFor:
			return 0, err
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("%w: %w", errUnknown, ctx.Err())
		case <-time.After(resendAfter):
		}
	}
}

// now returns the time of the leader's clock, and the newest sequence of the stream.
func (m *meta) now(ctx context.Context) (now time.Time, last uint64, err error) {
	err = m.retry(ctx, func(ctx context.Context) error {
		handle, err := m.js.Stream(ctx, m.stream)
		if err != nil {
			return err
		}
		info := handle.CachedInfo()
		now, last = info.TimeStamp, info.State.LastSeq
		return nil
	})
	return now, last, err
}

// live reports whether a claim holds the session of an entry.
func (m *meta) live(ctx context.Context, e entry) (bool, error) {
	if !e.held {
		return false, nil
	}
	now, _, err := m.now(ctx)
	return err == nil && e.liveAt(now), err
}

// liveAt reports whether a claim holds the session at a time of the servers.
func (e *entry) liveAt(now time.Time) bool { return e.held && now.Sub(e.time) < e.lease }

const scanBytes = 16 << 20 // of the messages that a scan asks for at once

// scan calls each for the newest message of every subject that matches, by ascending sequence. Any
// server may answer; what a server that lags behind does not have yet is asked for again, from the
// leader at last. A message that is replaced during the scan may come twice; its newest form comes last.
func (m *meta) scan(ctx context.Context, filter string, last uint64, each func(msg *nats.Msg, seq uint64)) error {
	next := uint64(1)
	for tries := 0; next <= last; {
		before := next
		more := false
		err := m.retry(ctx, func(ctx context.Context) (err error) {
			more, err = m.batch(ctx, filter, &next, each)
			return err
		})
		switch {
		case err != nil:
			return err
		case more:
			continue
		case next > last:
			return nil
		case next > before:
			tries = 0
		}
		// The newest messages may be of other subjects, or gone. Ask the leader.
		found, err := m.get(ctx, m.stream, getRequest{Seq: next, NextFor: filter})
		if err != nil || found == nil {
			return err
		}
		if tries++; tries > 100 {
			return errors.New("a server of the stream of entries has stayed behind its leader for too long")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(resendAfter):
		}
	}
	return nil
}

// batch asks for the messages from *next on, as many as scanBytes take, and sets *next behind them. It
// reports whether there are more.
func (m *meta) batch(ctx context.Context, filter string, next *uint64, each func(msg *nats.Msg, seq uint64)) (more bool, err error) {
	request := fmt.Sprintf(`{"seq":%d,"next_by_subj":%q,"batch":%d,"max_bytes":%d}`, *next, filter, 1<<30, scanBytes)
	return m.direct(ctx, []byte(request), func(msg *nats.Msg) error {
		seq, err := strconv.ParseUint(msg.Header.Get(api.SequenceHeader), 10, 64)
		if err != nil {
			return fmt.Errorf("answer of JetStream: %w", err)
		}
		each(msg, seq)
		*next = seq + 1
		return nil
	})
}

// direct asks any server of the stream for several messages, and reports whether there are more.
func (m *meta) direct(ctx context.Context, request []byte, each func(msg *nats.Msg) error) (more bool, err error) {
	inbox := m.conn.NewInbox()
	answers, err := m.conn.SubscribeSync(inbox)
	if err != nil {
		return false, err
	}
	defer func() { _ = answers.Unsubscribe() }()
	if err := answers.SetPendingLimits(-1, -1); err != nil {
		return false, err
	}
	if err := m.conn.PublishRequest("$JS.API.DIRECT.GET."+m.stream, inbox, request); err != nil {
		return false, err
	}
	for {
		msg, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return false, err
		}
		switch status := msg.Header.Get("Status"); status {
		case "":
			if err := each(msg); err != nil {
				return false, err
			}
		case "204": // the end of the batch
			pending, err := strconv.ParseUint(msg.Header.Get("Nats-Num-Pending"), 10, 64)
			return err == nil && pending > 0, nil
		case "404":
			return false, nil
		case "503":
			return false, nats.ErrNoResponders
		default:
			return false, fmt.Errorf("answer of JetStream: %s %s", status, msg.Header.Get("Description"))
		}
	}
}

// sessionOf returns the session of the subject of an entry or a summary.
func (m *meta) sessionOf(subject string) store.SessionID {
	name, _ := strings.CutPrefix(subject, m.prefix)
	name, _, _ = strings.Cut(name, ".")
	return store.SessionID(name)
}
