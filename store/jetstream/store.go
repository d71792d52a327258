package jetstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/store"
)

// Store is a store in two streams of JetStream. Use Open. The methods are safe for concurrent use, and
// any number of processes may use the streams.
type Store struct {
	options  Options
	link     *link
	logs     *logs
	meta     *meta
	replicas int
	claims   claims

	closing context.Context // done when Close begins
	close   context.CancelCauseFunc
	mu      sync.Mutex
	closed  bool
	calls   sync.WaitGroup // running calls, but not those that yield
}

var (
	_ store.Store      = (*Store)(nil)
	_ store.Claimer    = (*Store)(nil)
	_ store.Summarizer = (*Store)(nil)
)

// Open connects to the servers, and finds the streams or makes them.
func Open(ctx context.Context, options Options) (*Store, error) {
	failed := func(err error) (*Store, error) {
		return nil, fmt.Errorf("open %s: %w", options.URL(), err)
	}
	if len(options.Servers) == 0 {
		return failed(errors.New("no server is named"))
	}
	l, err := dial(ctx, options)
	if err != nil {
		return failed(err)
	}
	s := &Store{options: options, link: l}
	if err = l.checkAccount(ctx); err == nil {
		s.logs, s.meta, s.replicas, err = openStreams(ctx, l)
	}
	if err != nil {
		l.close()
		return failed(err)
	}
	s.closing, s.close = context.WithCancelCause(context.Background())
	s.claims.start(s)
	return s, nil
}

// checkAccount refuses a user of another account than the options name.
func (l *link) checkAccount(ctx context.Context) error {
	if l.options.Account == "" {
		return nil
	}
	return l.retry(ctx, func(ctx context.Context) error {
		answer, err := l.conn.RequestWithContext(ctx, "$SYS.REQ.USER.INFO", nil)
		if err != nil {
			return fmt.Errorf("ask for the account: %w", err)
		}
		var got struct {
			Data struct {
				Account string `json:"account"`
				Name    string `json:"account_name"`
			} `json:"data"`
		}
		if err := json.Unmarshal(answer.Data, &got); err != nil {
			return fmt.Errorf("ask for the account: %w", err)
		}
		if want := l.options.Account; got.Data.Account != want && got.Data.Name != want {
			return fmt.Errorf("the user is in account %s, not in %s", strings.TrimSpace(got.Data.Account+" "+got.Data.Name), want)
		}
		return nil
	})
}

// Info describes the store.
func (s *Store) Info() store.Info {
	durability := "process"
	if s.replicas > 1 {
		durability = "quorum"
	}
	return store.Info{Name: "nats", Location: s.options.URL(), Durability: durability}
}

// Close waits for running calls and ends the connection. Sessions that are claimed stay live until the
// claims' leases end.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.claims.stop()
	s.calls.Wait()
	s.close(store.ErrClosed)
	s.link.close()
	return nil
}

// begin begins a call that Close waits for, and returns the session's id in its canonical form.
func (s *Store) begin(id store.SessionID) (store.SessionID, error) {
	id, err := store.ParseSessionID(string(id))
	if err != nil {
		return id, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return id, store.ErrClosed
	}
	s.calls.Add(1)
	return id, nil
}

// untilClose returns a context that ends with ctx or with Close. Calls that yield use it.
func (s *Store) untilClose(ctx context.Context) (context.Context, context.CancelFunc) {
	both, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.closing, func() { cancel(store.ErrClosed) })
	return both, func() {
		stop()
		cancel(nil)
	}
}

// endError returns the error of a call that yields: Close is told as such.
func endError(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), store.ErrClosed) {
		return store.ErrClosed
	}
	return err
}

// Head returns the end of the log, from the leader.
func (s *Store) Head(ctx context.Context, id store.SessionID) (store.Head, error) {
	canonical, err := s.begin(id)
	if err == nil {
		defer s.calls.Done()
		var end place
		end, err = s.logs.last(ctx, canonical)
		switch {
		case err != nil:
		case end.session.Head.Seq == 0:
			err = store.ErrNotFound
		default:
			return end.session.Head, nil
		}
	}
	return store.Head{}, fmt.Errorf("head of session %s: %w", id, err)
}

// Append adds events after Seq `after`.
func (s *Store) Append(ctx context.Context, id store.SessionID, after uint64, events []store.Event) (store.Head, error) {
	canonical, err := s.begin(id)
	if err != nil {
		return store.Head{}, fmt.Errorf("append to session %s: %w", id, err)
	}
	defer s.calls.Done()
	token := rand.Text()
	for tries := 1; ; tries++ {
		head, err := s.appendOnce(ctx, canonical, token, after, events)
		var conflict *store.ConflictError
		switch {
		case err == nil || errors.As(err, &conflict):
			return head, err
		case !errors.Is(err, errMoved) || tries == maxTries:
			return head, fmt.Errorf("append to session %s: %w", id, err)
		}
	}
}

const maxTries = 50 // against other writers of the same session

// appendOnce appends as a writer of its own: it makes the session's entry unsettled, appends, and
// settles the entry. errMoved if another writer came between; then it may be tried again.
func (s *Store) appendOnce(ctx context.Context, id store.SessionID, token string, after uint64, events []store.Event) (head store.Head, err error) {
	e, end, err := s.writable(ctx, id)
	if err != nil {
		return head, err
	}
	fresh, err := s.fresh(ctx, end, after, events)
	if err != nil || len(fresh) == 0 && (e.settled || e.seq == 0) {
		return end.session.Head, err
	}
	if _, err := count(end.session, fresh); err != nil { // before anything is written
		return end.session.Head, err
	}
	if end, err = s.settleable(ctx, &e, end, token); err != nil {
		return end.session.Head, err
	}
	if len(fresh) > 0 {
		if end, err = s.logs.append(ctx, end, fresh, token); err != nil {
			return end.session.Head, err
		}
	}
	if len(fresh) > 0 && fresh[0].Seq == 1 {
		e.takeOpening(fresh[0])
	}
	if err := s.findOpening(ctx, &e, end); err != nil {
		return end.session.Head, err
	}
	return end.session.Head, s.settle(ctx, e, end)
}

// writable returns the entry of a session and the end of its log, unless a claim holds the session or
// it was deleted.
func (s *Store) writable(ctx context.Context, id store.SessionID) (e entry, end place, err error) {
	if e, err = s.meta.entry(ctx, id); err != nil {
		return e, end, err
	}
	if e.deleted {
		return e, end, fmt.Errorf("deleted: %w", store.ErrExists)
	}
	live, err := s.meta.live(ctx, e)
	switch {
	case err != nil:
		return e, end, err
	case live:
		return e, end, store.ErrLive
	}
	end, err = s.logs.last(ctx, id)
	return e, end, err
}

// settleable makes the entry unsettled, for the writer with the token, and puts a fence if the entry
// was that of another writer who has not settled it. It returns the new end of the log.
func (s *Store) settleable(ctx context.Context, e *entry, end place, token string) (place, error) {
	left := !e.settled && (e.seq != 0 || end.seq != 0)
	e.settled = false
	e.writer = token
	e.session = withCounts(e.session, end.session)
	var err error
	if e.seq, err = s.meta.put(ctx, *e); err != nil || !left {
		return end, err
	}
	for {
		next, err := s.logs.fence(ctx, end, token)
		if !errors.Is(err, errMoved) {
			return next, err
		}
		end = next
	}
}

// settle tells in the session's entry that the log ends at end, and nobody writes.
func (s *Store) settle(ctx context.Context, e entry, end place) error {
	for range maxTries {
		e.session = withCounts(e.session, end.session)
		e.settled = true
		e.held = false
		_, err := s.meta.put(ctx, e)
		if !errors.Is(err, errMoved) {
			return err
		}
		// Another writer has the entry. A settled one may be older than this append.
		now, err := s.meta.entry(ctx, end.session.ID)
		if err != nil || !now.settled || now.deleted || now.session.Head.Seq >= end.session.Head.Seq {
			return err
		}
		e = now
	}
	return errMoved
}

// withCounts returns a session with the header of one, and the head and the counts of the other.
func withCounts(header, counts store.Session) store.Session {
	counts.Header = header.Header
	return counts
}

// takeOpening takes the header of a session's first event, which was counted before.
func (e *entry) takeOpening(opening store.Event) {
	header, err := store.ParseHeader(opening.Payload)
	if err != nil {
		return
	}
	header.ID = e.session.ID
	e.session.Header = header
	e.opened = true
}

// findOpening reads the header from the log if the entry has none.
func (s *Store) findOpening(ctx context.Context, e *entry, end place) error {
	if e.opened || end.session.Head.Seq == 0 {
		return nil
	}
	for event, err := range s.events(ctx, end, 1) {
		if err != nil {
			return err
		}
		e.takeOpening(event)
		break
	}
	return nil
}

// fresh returns the events that the log does not have yet. The others must be equal to those of the
// log; else the error is a *store.ConflictError.
func (s *Store) fresh(ctx context.Context, end place, after uint64, events []store.Event) ([]store.Event, error) {
	head := end.session.Head
	conflict := &store.ConflictError{ID: end.session.ID, Head: head}
	if after > head.Seq {
		return nil, conflict
	}
	for i := range events {
		if want := after + uint64(i) + 1; events[i].Seq != want {
			return nil, fmt.Errorf("event %d: expected event %d", events[i].Seq, want)
		}
	}
	known := min(uint64(len(events)), head.Seq-after)
	if known > 0 {
		same, err := s.same(ctx, end, events[:known])
		if err != nil {
			return nil, err
		}
		if !same {
			return nil, conflict
		}
	}
	if head.Sealed && known < uint64(len(events)) {
		return nil, conflict
	}
	return events[known:], nil
}

// same reports whether events are those of the log, which ends at end or later.
func (s *Store) same(ctx context.Context, end place, events []store.Event) (bool, error) {
	if last := events[len(events)-1].Seq; events[0].Seq == 1 && last == end.session.Head.Seq {
		counted, err := count(store.Session{Header: store.Header{ID: end.session.ID}}, events)
		return err == nil && counted.Head == end.session.Head, nil
	}
	i := 0
	for event, err := range s.events(ctx, end, events[0].Seq) {
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

// Delete removes a session and leaves a tombstone.
func (s *Store) Delete(ctx context.Context, id store.SessionID) error {
	canonical, err := s.begin(id)
	if err == nil {
		defer s.calls.Done()
		err = s.delete(ctx, canonical)
	}
	if err != nil {
		return fmt.Errorf("delete session %s: %w", id, err)
	}
	return nil
}

func (s *Store) delete(ctx context.Context, id store.SessionID) error {
	for range maxTries {
		e, end, err := s.writable(ctx, id)
		if errors.Is(err, store.ErrExists) { // an earlier call may have been cut short
			if end, err = s.logs.last(ctx, id); err == nil && end.seq == 0 {
				return store.ErrNotFound
			}
			return errors.Join(err, s.purge(ctx, id))
		}
		if err == nil && end.session.Head.Seq == 0 {
			err = store.ErrNotFound
		}
		if err != nil {
			return err
		}
		grave := entry{seq: e.seq, deleted: true, settled: true, writer: rand.Text(), session: store.Session{Header: store.Header{ID: id}}}
		_, err = s.meta.put(ctx, grave)
		if errors.Is(err, errMoved) {
			continue
		}
		if err != nil {
			return err
		}
		return s.purge(ctx, id)
	}
	return errMoved
}

// purge removes what a deleted session leaves besides its tombstone.
func (s *Store) purge(ctx context.Context, id store.SessionID) error {
	if err := s.logs.purge(ctx, id); err != nil {
		return err
	}
	return s.meta.purgeSubject(ctx, s.meta.stream, s.meta.summarySubject(id))
}
