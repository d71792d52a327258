package jetstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
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
			return 0, fmt.Errorf("%w: JetStream does not take it: %w", errUnknown, explain(err))
		}
		if err := pause(ctx, resendAfter); err != nil {
			return 0, fmt.Errorf("%w: %w", errUnknown, err)
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

// names returns the sessions that have a subject of the form `prefix ID rest`: "*" for entries,
// "*.MARK" for a mark.
func (m *meta) names(ctx context.Context, filter string) (ids []store.SessionID, err error) {
	for {
		count := len(ids)
		request := fmt.Sprintf(`{"subjects_filter":%q,"offset":%d}`, m.prefix+filter, count)
		var got struct {
			Error *api.APIError `json:"error"`
			Total int           `json:"total"`
			State struct {
				Subjects json.RawMessage `json:"subjects"` // an object: how many messages each subject has
			} `json:"state"`
		}
		err := m.retry(ctx, func(ctx context.Context) error {
			answer, err := m.conn.RequestWithContext(ctx, "$JS.API.STREAM.INFO."+m.stream, []byte(request))
			if err != nil {
				return err
			}
			if err := json.Unmarshal(answer.Data, &got); err != nil {
				return fmt.Errorf("answer of JetStream: %w", err)
			}
			if got.Error != nil {
				return got.Error
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		// Only the names have quotes. A map of them would cost more than all the rest.
		for name := range bytes.SplitSeq(got.State.Subjects, []byte{'"'}) {
			if subject := string(name); strings.HasPrefix(subject, m.prefix) {
				ids = append(ids, m.sessionOf(subject))
			}
		}
		if len(ids) >= got.Total || len(ids) == count {
			return ids, nil
		}
	}
}

const (
	scanBytes    = 4 << 20 // of the messages that a scan asks for at once
	manySubjects = 1000    // in a request for the newest messages; the server takes 1024
	maxBehind    = 100     // tries, with pauses, to find a server that is not behind its leader
)

// scan calls each for the newest message of every subject that matches, by ascending sequence, up to
// the sequence `last` of the leader at least. Any server may answer; a server that lags behind is asked
// again. A message that is replaced during the scan may come twice, and its newest form comes last.
func (m *meta) scan(ctx context.Context, filter string, last uint64, each func(msg *nats.Msg, seq uint64)) error {
	next := uint64(1)
	for tries := 0; next <= last; tries++ {
		before := next
		var end batchEnd
		err := m.retry(ctx, func(ctx context.Context) (err error) {
			request := fmt.Sprintf(`{"seq":%d,"next_by_subj":%q,"batch":%d,"max_bytes":%d}`, next, filter, 1<<30, scanBytes)
			end, err = m.direct(ctx, request, func(msg *nats.Msg) error {
				seq, err := strconv.ParseUint(msg.Header.Get(api.SequenceHeader), 10, 64)
				if err != nil {
					return fmt.Errorf("answer of JetStream: %w", err)
				}
				each(msg, seq)
				next = seq + 1
				return nil
			})
			return err
		})
		switch {
		case err != nil && (next == before || !temporary(err)):
			return err
		case next > before && (err != nil || end.more): // a slow link needs several steps
			tries = 0
			continue
		case next > last:
			return nil
		case tries > maxBehind:
			return errBehind
		}
		// The newest messages may be of other subjects, or gone: the leader knows.
		found, err := m.get(ctx, m.stream, getRequest{Seq: next, NextFor: filter})
		if err != nil || found == nil {
			return err
		}
		if err := pause(ctx, resendAfter); err != nil {
			return err
		}
	}
	return nil
}

// newest calls each for the newest message of each subject that has one: from any server that has
// the messages up to the sequence `last` of the leader, or from the leader.
func (m *meta) newest(ctx context.Context, subjects []string, last uint64, each func(msg *nats.Msg)) error {
	for part := range slices.Chunk(subjects, manySubjects) {
		request, err := json.Marshal(map[string]any{"multi_last": part, "max_bytes": 1 << 30})
		if err != nil {
			return err
		}
		var found []*nats.Msg
		var end batchEnd
		err = m.retry(ctx, func(ctx context.Context) (err error) {
			found = nil
			end, err = m.direct(ctx, string(request), func(msg *nats.Msg) error {
				found = append(found, msg)
				return nil
			})
			return err
		})
		if err == nil && last > 0 && end.upTo < last {
			found, err = m.fromLeader(ctx, part)
		}
		if err != nil {
			return err
		}
		for _, msg := range found {
			each(msg)
		}
	}
	return nil
}

// fromLeader returns the newest message of each subject that has one, as other servers give them.
func (m *meta) fromLeader(ctx context.Context, subjects []string) (found []*nats.Msg, err error) {
	var mu sync.Mutex
	inParallel(subjects, looksAtOnce, func(subject string) {
		got, problem := m.get(ctx, m.stream, getRequest{LastFor: subject})
		mu.Lock()
		defer mu.Unlock()
		switch {
		case problem != nil:
			err = problem
		case got != nil:
			msg := &nats.Msg{Subject: subject, Header: nats.Header{}, Data: got.Data}
			msg.Header.Set(api.SubjectHeader, got.Subject)
			msg.Header.Set(api.TimeStampHeaer, got.Time.Format(time.RFC3339Nano))
			found = append(found, msg)
		}
	})
	return found, err
}

// batchEnd is what the end of an answer in several messages says.
type batchEnd struct {
	more bool   // there are more messages
	upTo uint64 // the server's newest sequence, if there are messages and it says so
}

// direct asks any server of the stream for several messages.
func (m *meta) direct(ctx context.Context, request string, each func(msg *nats.Msg) error) (end batchEnd, err error) {
	answers, err := m.conn.SubscribeSync(m.conn.NewInbox())
	if err != nil {
		return end, err
	}
	defer func() { _ = answers.Unsubscribe() }()
	if err := answers.SetPendingLimits(-1, -1); err != nil {
		return end, err
	}
	if err := m.conn.PublishRequest("$JS.API.DIRECT.GET."+m.stream, answers.Subject, []byte(request)); err != nil {
		return end, err
	}
	for {
		msg, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return end, err
		}
		switch status := msg.Header.Get("Status"); status {
		case "":
			if err := each(msg); err != nil {
				return end, err
			}
		case "204": // the end
			pending, _ := strconv.ParseUint(msg.Header.Get("Nats-Num-Pending"), 10, 64)
			end.more = pending > 0
			end.upTo, _ = strconv.ParseUint(msg.Header.Get("Nats-UpTo-Sequence"), 10, 64)
			return end, nil
		case "404":
			return end, nil
		case "503":
			return end, nats.ErrNoResponders
		default:
			return end, fmt.Errorf("answer of JetStream: %s %s", status, msg.Header.Get("Description"))
		}
	}
}

// sessionOf returns the session of the subject of an entry or a summary.
func (m *meta) sessionOf(subject string) store.SessionID {
	name, _ := strings.CutPrefix(subject, m.prefix)
	name, _, _ = strings.Cut(name, ".")
	return store.SessionID(name)
}
