package jetstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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

// endError returns the error of a call that yields; after Close it is store.ErrClosed.
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

// Read yields the events from Seq `from`.
func (s *Store) Read(ctx context.Context, id store.SessionID, from uint64, options store.ReadOptions) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		canonical, err := s.begin(id)
		if err == nil {
			s.calls.Done() // Close does not wait for a caller that handles events
			ctx, cancel := s.untilClose(ctx)
			defer cancel()
			r := &reader{logs: s.logs, meta: s.meta, id: canonical, from: max(from, 1), yield: yield}
			err = endError(ctx, r.run(ctx, options.Follow))
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(store.Event{}, fmt.Errorf("read session %s: %w", id, err))
		}
	}
}

// Sessions yields the sessions of the query.
func (s *Store) Sessions(ctx context.Context, query store.Query) iter.Seq2[store.Session, error] {
	return func(yield func(store.Session, error) bool) {
		ctx, cancel := s.untilClose(ctx)
		defer cancel()
		l := &lister{s: s, query: query}
		if err := endError(ctx, l.run(ctx, yield)); err != nil && !errors.Is(err, errStopped) {
			yield(store.Session{}, fmt.Errorf("list sessions: %w", err))
		}
	}
}

// KeepSummaries keeps summaries of sessions with exactly these heads.
func (s *Store) KeepSummaries(ctx context.Context, list []store.Summary) error {
	ctx, cancel := s.untilClose(ctx)
	defer cancel()
	if err := s.meta.keepAll(ctx, s.logs, list); err != nil {
		return fmt.Errorf("keep summaries: %w", endError(ctx, err))
	}
	return nil
}

// Summaries returns the summaries that the sessions have.
func (s *Store) Summaries(ctx context.Context, sessions []store.Session) (map[store.SessionID][]byte, error) {
	ctx, cancel := s.untilClose(ctx)
	defer cancel()
	kept, err := s.meta.summaries(ctx, sessions)
	if err != nil {
		return nil, fmt.Errorf("read summaries: %w", endError(ctx, err))
	}
	return kept, nil
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
			if end, err = s.logs.last(ctx, id); err == nil && end.session.Head.Seq == 0 {
				return store.ErrNotFound
			}
		} else {
			if err == nil && end.session.Head.Seq == 0 {
				err = store.ErrNotFound
			}
			if err != nil {
				return err
			}
			grave := entry{seq: e.seq, deleted: true, settled: true, writer: rand.Text(), session: store.Session{Header: store.Header{ID: id}}}
			_, err = s.meta.put(ctx, grave)
		}
		switch {
		case err == nil:
			return s.purge(ctx, end, e.settled && !e.deleted)
		case !errors.Is(err, errMoved):
			return err
		}
	}
	return errMoved
}

// purge removes what a deleted session leaves besides its tombstone. Of the log stays a fence in front
// of its first event: an append that is still on its way from a holder of long ago would begin the log anew.
func (s *Store) purge(ctx context.Context, end place, settled bool) (err error) {
	id := end.session.ID
	token := rand.Text()
	subject := s.logs.prefix + string(id)
	if !settled {
		end, err = s.logs.fence(ctx, end, token)
	}
	if err == nil {
		end.session = store.Session{Header: store.Header{ID: id}}
		_, err = s.logs.fence(ctx, end, token)
	}
	if errorCode(err) == codeStoreFailed { // a full stream has no room for a fence
		if err = s.link.purge(ctx, s.logs.stream, subject, 0); err == nil {
			_, err = s.logs.fence(ctx, place{session: store.Session{Header: store.Header{ID: id}}}, token)
		}
	}
	if err == nil {
		err = s.link.purge(ctx, s.logs.stream, subject, 1)
	}
	if err == nil {
		err = s.link.purge(ctx, s.meta.stream, s.meta.prefix+string(id)+".*", 0)
	}
	return err
}
