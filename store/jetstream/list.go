package jetstream

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	api "github.com/nats-io/nats.go/jetstream"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/varint"
)

const looksAtOnce = 32 // sessions that are asked about at the same time

// Sessions yields the sessions of the query: the entries, and of those that are not settled the last
// message.
func (s *Store) Sessions(ctx context.Context, query store.Query) iter.Seq2[store.Session, error] {
	return func(yield func(store.Session, error) bool) {
		ctx, cancel := s.untilClose(ctx)
		defer cancel()
		err := s.closing.Err()
		if err != nil {
			err = store.ErrClosed
		} else {
			err = s.list(ctx, query, yield)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(store.Session{}, fmt.Errorf("list sessions: %w", endError(ctx, err)))
		}
	}
}

// listed is an entry of a listing that is not read whole yet.
type listed struct {
	id    store.SessionID
	entry entry
	text  []byte // of the header
	err   error
	none  bool // there is no such session
}

func (s *Store) list(ctx context.Context, query store.Query, yield func(store.Session, error) bool) error {
	now, last, err := s.meta.now(ctx)
	if err != nil {
		return err
	}
	found, err := s.entries(ctx, query, last)
	if err != nil {
		return err
	}
	// The start of a session without a header is not known yet.
	var unknown []*listed
	for i := range found {
		if !found[i].entry.opened && found[i].err == nil {
			unknown = append(unknown, &found[i])
		}
	}
	s.complete(ctx, unknown, now)
	found = slices.DeleteFunc(found, func(x listed) bool { return x.none })
	slices.SortFunc(found, func(a, b listed) int {
		order := cmp.Or(a.entry.session.Start.Compare(b.entry.session.Start), cmp.Compare(a.id, b.id))
		if query.Newest {
			return -order
		}
		return order
	})
	// Entries may be of sessions that never began, so the limit is reached step by step.
	left := query.Limit
	for len(found) > 0 && (query.Limit == 0 || left > 0) {
		step := found
		if query.Limit > 0 {
			step = found[:min(left, len(found))]
		}
		found = found[len(step):]
		pointers := make([]*listed, len(step))
		for i := range step {
			pointers[i] = &step[i]
		}
		s.complete(ctx, pointers, now)
		for _, x := range step {
			if err := ctx.Err(); err != nil {
				return err
			}
			if x.none {
				continue
			}
			left--
			if !yield(x.entry.session, x.err) {
				return errStopped
			}
		}
	}
	return nil
}

// entries reads the entries of the query's sessions, with tombstones left out.
func (s *Store) entries(ctx context.Context, query store.Query, last uint64) ([]listed, error) {
	var found []listed
	places := map[store.SessionID]int{}
	prefix := strings.ToLower(query.Prefix)
	err := s.meta.scan(ctx, s.meta.prefix+"*", last, func(msg *nats.Msg, seq uint64) {
		id := s.meta.sessionOf(msg.Header.Get(api.SubjectHeader))
		if !strings.HasPrefix(string(id), prefix) {
			return
		}
		x := listed{id: id}
		x.entry, x.text, x.err = decodeEntry(id, msg.Data)
		x.entry.seq = seq
		if x.entry.held && !x.entry.settled {
			x.entry.time, _ = time.Parse(time.RFC3339Nano, msg.Header.Get(api.TimeStampHeaer))
		}
		if at, ok := places[id]; ok {
			found[at] = x
			return
		}
		places[id] = len(found)
		found = append(found, x)
	})
	return slices.DeleteFunc(found, func(x listed) bool {
		return x.err == nil && (x.entry.deleted || x.entry.settled && x.entry.session.Head.Seq == 0)
	}), err
}

// complete reads what a listing tells of each session, at a time of the servers.
func (s *Store) complete(ctx context.Context, list []*listed, now time.Time) {
	inParallel(list, looksAtOnce, func(x *listed) {
		if x.err == nil {
			x.err = s.completeOne(ctx, x, now)
		}
	})
}

func (s *Store) completeOne(ctx context.Context, x *listed, now time.Time) error {
	e := &x.entry
	if e.opened && e.session.Version == 0 {
		if err := e.takeHeader(x.text); err != nil {
			return err
		}
		x.text = nil
	}
	if e.settled && e.opened {
		e.session.State = e.session.Head.State(false)
		return nil
	}
	end, err := s.logs.last(ctx, x.id)
	if err != nil {
		return fmt.Errorf("session %s: %w", x.id, err)
	}
	if end.session.Head.Seq == 0 {
		x.none = true
		return nil
	}
	e.session = withCounts(e.session, end.session)
	if err := s.findOpening(ctx, e, end); err != nil {
		return fmt.Errorf("session %s: %w", x.id, err)
	}
	e.session.State = e.session.Head.State(!e.settled && e.liveAt(now))
	return nil
}

func (m *meta) summarySubject(id store.SessionID) string { return m.prefix + string(id) + ".summary" }

// KeepSummaries keeps summaries of sessions with exactly these heads.
func (s *Store) KeepSummaries(ctx context.Context, list []store.Summary) error {
	var mu sync.Mutex
	var problems []error
	inParallel(list, looksAtOnce, func(x store.Summary) {
		if err := s.keepSummary(ctx, x); err != nil {
			mu.Lock()
			defer mu.Unlock()
			problems = append(problems, err)
		}
	})
	if len(problems) > 0 {
		return fmt.Errorf("keep summaries: %w", problems[0])
	}
	return nil
}

func (s *Store) keepSummary(ctx context.Context, x store.Summary) error {
	id, err := s.begin(x.ID)
	if err != nil {
		return err
	}
	defer s.calls.Done()
	end, err := s.logs.last(ctx, id)
	if err != nil || end.session.Head != x.Head {
		return err
	}
	data := binary.AppendUvarint([]byte{entryVersion}, x.Head.Seq)
	data = append(data, x.Head.Chain[:]...)
	data = append(data, x.Data...)
	return s.link.retry(ctx, func(ctx context.Context) error {
		_, err := s.link.js.Publish(ctx, s.meta.summarySubject(id), data, api.WithRetryAttempts(0))
		return err
	})
}

// Summaries returns the summaries that the sessions have.
func (s *Store) Summaries(ctx context.Context, sessions []store.Session) (map[store.SessionID][]byte, error) {
	ctx, cancel := s.untilClose(ctx)
	defer cancel()
	kept := map[store.SessionID][]byte{}
	heads := map[store.SessionID]store.Head{}
	for _, x := range sessions {
		heads[x.ID] = x.Head
	}
	for part := range slices.Chunk(sessions, manySubjects) {
		subjects := make([]string, len(part))
		for i, x := range part {
			subjects[i] = s.meta.summarySubject(x.ID)
		}
		err := s.meta.newest(ctx, subjects, func(msg *nats.Msg) {
			id := s.meta.sessionOf(msg.Header.Get(api.SubjectHeader))
			if data, ok := summaryOf(heads[id], msg.Data); ok {
				kept[id] = data
			}
		})
		if err != nil {
			return nil, fmt.Errorf("read summaries: %w", endError(ctx, err))
		}
	}
	return kept, nil
}

// summaryOf reads a summary, if it is of this head.
func summaryOf(head store.Head, data []byte) ([]byte, bool) {
	if len(data) == 0 || data[0] != entryVersion || head.Seq == 0 {
		return nil, false
	}
	reader := varint.NewReader(data[1:])
	seq := reader.Uint()
	chain := reader.Take(uint64(len(head.Chain)))
	if seq != head.Seq || string(chain) != string(head.Chain[:]) {
		return nil, false
	}
	return slices.Clone(reader.Rest()), true
}

const manySubjects = 1000 // in a request for the newest messages; the server takes 1024

// newest calls each for the newest message of each subject that has one. The answering server may
// lag behind.
func (m *meta) newest(ctx context.Context, subjects []string, each func(msg *nats.Msg)) error {
	request, err := json.Marshal(map[string]any{"multi_last": subjects, "max_bytes": 1 << 30})
	if err != nil {
		return err
	}
	return m.retry(ctx, func(ctx context.Context) error {
		_, err := m.direct(ctx, request, func(msg *nats.Msg) error {
			each(msg)
			return nil
		})
		return err
	})
}
