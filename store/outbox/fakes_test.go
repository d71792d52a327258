package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/transport"
)

// testID returns the nth of a row of session ids.
func testID(n int) store.SessionID {
	return store.SessionID(fmt.Sprintf("01a19c21-75e8-7000-8000-%012x", n))
}

// testLog returns the first n events of session number i; the last is Closed if sealed.
func testLog(i, n int, sealed bool) []store.Event {
	header := store.Header{ID: testID(i), Start: time.Date(2026, 11, 2, 12, 0, i, 0, time.UTC), Transport: "stdio", Command: []string{"server"}}
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: header.Encode()}}
	for seq := uint64(2); seq <= uint64(n); seq++ {
		payload := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"params":{"secret":"%d"}}`, seq, seq*seq)
		events = append(events, store.Event{Seq: seq, At: time.Duration(seq) * time.Millisecond, Kind: store.Frame, Dir: transport.Direction(1 + seq%2), Payload: payload})
	}
	if sealed {
		last := &events[n-1]
		*last = store.Event{Seq: last.Seq, At: last.At, Kind: store.Closed, Payload: []byte("{}")}
	}
	return events
}

func asParts(events []store.Event) (parts []store.Part) {
	for _, e := range events {
		parts = append(parts, store.Part{Event: e})
	}
	return parts
}

// memLocal is a local store in memory.
type memLocal struct {
	*memstore.Store
	mu       sync.Mutex
	states   map[store.SessionID][]byte
	released []store.SessionID
	alone    sync.Mutex
}

func newLocal() *memLocal {
	return &memLocal{Store: memstore.New(), states: map[store.SessionID][]byte{}}
}

// Close does nothing: as a folder, the store outlives the outbox.
func (l *memLocal) Close() error { return nil }

func (l *memLocal) Waiting(ctx context.Context) (list []store.SpoolInfo, err error) {
	for x, err := range l.Sessions(ctx, store.Query{}) {
		if err != nil {
			return list, err
		}
		list = append(list, store.SpoolInfo{ID: x.ID, Bytes: int64(x.Bytes), Live: x.State == store.Live || x.Head.Sealed && !l.closed(x.ID)})
	}
	return list, nil
}

// closed reports whether the spool of a sealed session is closed.
func (l *memLocal) closed(id store.SessionID) bool {
	head, _ := l.Head(context.Background(), id)
	_, err := l.Append(context.Background(), id, head.Seq, nil)
	return !errors.Is(err, store.ErrLive)
}

func (l *memLocal) Release(ctx context.Context, id store.SessionID) error {
	if err := l.Delete(ctx, id); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.states, id)
	l.released = append(l.released, id)
	return nil
}

func (l *memLocal) KeepShippedState(id store.SessionID, data []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states[id] = bytes.Clone(data)
	return nil
}

func (l *memLocal) ShippedState(id store.SessionID) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[id], nil
}

func (l *memLocal) Alone(ctx context.Context, f func(context.Context) error) (bool, error) {
	if !l.alone.TryLock() {
		return false, nil
	}
	defer l.alone.Unlock()
	return true, f(ctx)
}

// state returns the kept state of a session.
func (l *memLocal) state(id store.SessionID) state {
	data, _ := l.ShippedState(id)
	return parseState(data)
}

// record records a whole session in the local store, as a recorder that is dead by now.
func record(t testing.TB, local store.Spooler, events []store.Event) {
	t.Helper()
	p, err := local.Spool(context.Background(), events[0])
	if err == nil {
		err = errors.Join(p.Write(asParts(events[1:])), p.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fault is what happens to one call of a shared store.
type fault string

const (
	works   fault = ""
	refuses fault = "refuses" // an error, and nothing is done
	forgets fault = "forgets" // it is done, and the answer is an error
	hangs   fault = "hangs"   // nothing is done until the caller gives up
	late    fault = "late"    // it is done, and the caller gives up before the answer
	taken   fault = "taken"   // another has the claim
	gone    fault = "gone"    // the place of all sessions is missing there
	broken  fault = "broken"  // the connection is broken: every further call of it fails, too
)

var errInjected = errors.New("injected")

// sharedServer is a shared store in memory, to which outboxes connect.
type sharedServer struct {
	store *memstore.Store
	limit int // bytes of an event; 0: none

	mu     sync.Mutex
	fault  func(call string) fault // nil: all calls work
	calls  []string                // names, with the number of events of an append
	opened int
}

func newServer() *sharedServer { return &sharedServer{store: memstore.New()} }

// plan makes the first calls of each name fail as told.
func (s *sharedServer) plan(faults map[string][]fault) {
	done := map[string]int{}
	s.fault = func(call string) fault {
		n := done[call]
		done[call]++
		if n < len(faults[call]) {
			return faults[call][n]
		}
		return works
	}
}

func (s *sharedServer) setFault(f func(call string) fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// call notes a call and runs it with its fault.
func (s *sharedServer) call(ctx context.Context, c *connectionTo, name string, run func(context.Context) error) error {
	s.mu.Lock()
	s.calls = append(s.calls, name)
	kind := works
	if s.fault != nil {
		kind = s.fault(name)
	}
	s.mu.Unlock()
	if kind == broken && c != nil {
		c.broken.Store(true)
	}
	if c != nil && c.broken.Load() {
		return store.ErrClosed
	}
	switch kind {
	case refuses:
		return errInjected
	case forgets:
		_ = run(ctx)
		return errInjected
	case hangs:
		<-ctx.Done()
		return ctx.Err()
	case late:
		_ = run(ctx)
		<-ctx.Done()
		return ctx.Err()
	case taken:
		return store.ErrLive
	case gone:
		return store.ErrNotFound
	}
	return run(ctx)
}

// now returns the store as it is now.
func (s *sharedServer) now() *memstore.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store
}

func (s *sharedServer) count(name string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, call := range s.calls {
		if call == name {
			n++
		}
	}
	return n
}

func (s *sharedServer) open(ctx context.Context) (Shared, error) {
	var c *connectionTo
	err := s.call(ctx, nil, "open", func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.opened++
		c = &connectionTo{Store: s.store, server: s}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// connectionTo is a connection to a sharedServer.
type connectionTo struct {
	*memstore.Store
	server *sharedServer
	broken atomic.Bool
}

func (c *connectionTo) Close() error { return nil }

func (c *connectionTo) call(ctx context.Context, name string, run func(context.Context) error) error {
	return c.server.call(ctx, c, name, run)
}

func (c *connectionTo) Head(ctx context.Context, id store.SessionID) (head store.Head, err error) {
	err = c.call(ctx, "head", func(ctx context.Context) (err error) {
		head, err = c.server.now().Head(ctx, id)
		return err
	})
	return head, err
}

func (c *connectionTo) Claim(ctx context.Context, id store.SessionID) (store.Claim, error) {
	var inner store.Claim
	of := c.server.now()
	err := c.call(ctx, "claim", func(ctx context.Context) (err error) {
		inner, err = of.Claim(ctx, id)
		return err
	})
	if err != nil {
		if inner != nil {
			lapse(inner)
		}
		return nil, err
	}
	return &claimOf{c, inner, of, id}, nil
}

type claimOf struct {
	connection *connectionTo
	inner      store.Claim
	of         *memstore.Store
	id         store.SessionID
}

func (c *claimOf) Append(ctx context.Context, after uint64, events []store.Event) (head store.Head, err error) {
	err = c.connection.call(ctx, "append", func(ctx context.Context) (err error) {
		for _, e := range events {
			if limit := c.connection.server.limit; limit > 0 && len(e.Payload) > limit {
				return fmt.Errorf("append: %w", store.ErrTooLarge)
			}
		}
		if now := c.connection.server.now(); now != c.of { // it has lost events, but not the claim
			c.of = now
			if c.inner, err = now.Claim(ctx, c.id); err != nil {
				return err
			}
		}
		head, err = c.inner.Append(ctx, after, events)
		return err
	})
	return head, err
}

func (c *claimOf) Release(ctx context.Context) error {
	err := c.connection.call(ctx, "release", func(ctx context.Context) error { return c.inner.Release(ctx) })
	if err != nil {
		lapse(c.inner)
	}
	return err
}

// lapse ends a claim whose holder is not heard of any more.
func lapse(inner store.Claim) {
	time.AfterFunc(30*time.Second, func() { _ = inner.Release(context.Background()) })
}

// wantShared checks that the shared store has exactly the events.
func wantShared(t testing.TB, s store.Store, id store.SessionID, want []store.Event) {
	t.Helper()
	var got []store.Event
	for e, err := range s.Read(context.Background(), id, 1, store.ReadOptions{}) {
		if err != nil {
			t.Fatalf("the shared store: %v", err)
		}
		got = append(got, e)
	}
	for i := range min(len(got), len(want)) {
		if !got[i].Equal(want[i]) {
			show := func(e store.Event) string {
				return fmt.Sprintf("%d %v %s %s, stream %d, cut %d, %d bytes, %.100q", e.Seq, e.At, e.Kind, e.Dir, e.Stream, e.Cut, len(e.Payload), e.Payload)
			}
			t.Fatalf("the shared store has\n%s\nand not\n%s", show(got[i]), show(want[i]))
		}
	}
	if len(got) != len(want) {
		t.Fatalf("the shared store has %d events, want %d", len(got), len(want))
	}
}

// troubles collects what an outbox tells.
type troubles struct {
	mu   sync.Mutex
	list []string
}

func (x *troubles) add(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = append(x.list, err.Error())
}

func (x *troubles) told() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.list
}

// flushAll flushes, and returns what it reports by session.
func flushAll(t testing.TB, o *Outbox) (map[store.SessionID]Flushed, error) {
	t.Helper()
	found := map[store.SessionID]Flushed{}
	err := o.Flush(context.Background(), func(f Flushed) {
		if _, again := found[f.ID]; again {
			t.Errorf("session %s is reported twice", f.ID)
		}
		found[f.ID] = f
	})
	return found, err
}
