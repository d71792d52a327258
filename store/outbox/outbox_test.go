package outbox

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
)

func mustSpool(t testing.TB, o *Outbox, opened store.Event) store.Spool {
	t.Helper()
	p, err := o.Spool(context.Background(), opened)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustWrite(t testing.TB, p store.Spool, events ...store.Event) {
	t.Helper()
	if err := p.Write(asParts(events)); err != nil {
		t.Fatal(err)
	}
}

func mustClose(t testing.TB, closer interface{ Close() error }) {
	t.Helper()
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBatches holds when events leave: 100 ms after the first one of a batch was recorded, or when it is full.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		o := New(newLocal(), server.open, Options{})
		const small = 4 + 2*batchEvents + 1 // events before the large one
		const all = small + 2 + 2*batchEvents + 37
		events := testLog(1, all, true)
		began := time.Now()
		p := mustSpool(t, o, events[0])
		write := func(events []store.Event) {
			t.Helper()
			for i := range events {
				events[i].At = time.Since(began)
			}
			mustWrite(t, p, events...)
		}
		appends := 0
		pass := func(d time.Duration, want int, upto int) {
			t.Helper()
			<-time.After(d)
			synctest.Wait()
			appends += want
			if got := server.count("append"); got != appends {
				t.Fatalf("%d appends, want %d", got, appends)
			}
			if upto > 0 {
				wantShared(t, server.store, testID(1), events[:upto])
			}
		}
		pass(99*time.Millisecond, 0, 0)
		pass(time.Millisecond, 1, 1)
		write(events[1:3])
		pass(50*time.Millisecond, 0, 1)
		write(events[3:4])
		pass(49*time.Millisecond, 0, 1)
		pass(time.Millisecond, 1, 4)
		write(events[4:small])
		pass(0, 2, small-1)
		pass(time.Hour, 1, small)
		large := events[small]
		large.Payload = bytes.Repeat([]byte("x"), batchBytes)
		events[small] = large
		write(events[small : small+2])
		pass(0, 1, small+1)
		pass(time.Second, 1, small+2)
		write(events[small+2:])
		mustClose(t, p)
		pass(0, 3, all) // the end of a log leaves at once
		mustClose(t, o)
		if got := o.Stats(); got.EventsAcknowledged != all || got.EventsWaiting != 0 || got.BytesWaiting != 0 || got.Retries != 0 {
			t.Errorf("stats %+v", got)
		}
	})
}

// TestFaults ships a session past faults of the shared store: every event arrives once and in order.
func TestFaults(t *testing.T) {
	many := func(kind fault, n int) (list []fault) {
		for range n {
			list = append(list, kind)
		}
		return list
	}
	for name, plan := range map[string]map[string][]fault{
		"none":                  nil,
		"no connection":         {"open": many(refuses, 20)},
		"connecting hangs":      {"open": many(hangs, 3)},
		"claim refused":         {"claim": many(refuses, 3)},
		"claim hangs":           {"claim": {hangs}},
		"head refused":          {"head": many(refuses, 3)},
		"head hangs":            {"head": {hangs, refuses}},
		"appends refused":       {"append": {refuses, works, refuses, refuses, works, refuses}},
		"for a long time":       {"append": many(refuses, 40)},
		"outcomes unknown":      {"append": {forgets, forgets, works, forgets}},
		"appends hang":          {"append": {hangs, works, hangs}},
		"answers lost":          {"append": {late, late, works, late}},
		"release refused":       {"release": {refuses}},
		"everything":            {"open": {refuses, hangs}, "claim": {refuses}, "head": {refuses, hangs}, "append": {late, refuses, forgets, hangs, works, late}},
		"claim taken, not told": {"claim": {forgets, works, late}, "append": many(refuses, reopenAfter)},
		"connections break":     {"append": {broken, works, broken}, "head": {works, broken}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer()
				server.plan(plan)
				local := newLocal()
				var told troubles
				o := New(local, server.open, Options{Trouble: told.add})
				events := testLog(1, 500, true)
				p := mustSpool(t, o, events[0])
				for i := 1; i < len(events); i += 7 {
					mustWrite(t, p, events[i:min(i+7, len(events))]...)
					<-time.After(10 * time.Millisecond)
				}
				mustClose(t, p)
				<-time.After(time.Hour)
				synctest.Wait()
				wantShared(t, server.store, testID(1), events)
				if got := local.state(testID(1)); !got.Complete || got.Head.Seq != 500 {
					t.Errorf("state %+v", got)
				}
				if list := told.told(); len(list) > 0 {
					t.Errorf("trouble: %q", list)
				}
				if got := o.Stats(); got.EventsWaiting != 0 || got.BytesWaiting != 0 || (got.Retries > 0) != (plan != nil && name != "release refused") {
					t.Errorf("stats %+v", got)
				}
				if _, err := server.store.Claim(t.Context(), testID(1)); err != nil {
					t.Errorf("the claim is not released: %v", err)
				}
				mustClose(t, o)
			})
		})
	}
}

// TestNobodyWaits holds that a session neither waits for the shared store nor sees its faults.
func TestNobodyWaits(t *testing.T) {
	for _, name := range []string{"open", "claim", "head", "append"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer()
				server.setFault(func(call string) fault {
					if call == name {
						return hangs
					}
					return works
				})
				o := New(newLocal(), server.open, Options{})
				began := time.Now()
				events := testLog(1, 200, true)
				p := mustSpool(t, o, events[0])
				for _, e := range events[1:] {
					mustWrite(t, p, e)
				}
				mustClose(t, p)
				if took := time.Since(began); took != 0 {
					t.Errorf("the session took %v", took)
				}
				wantShared(t, o, testID(1), events) // the local store has it
				mustClose(t, o)
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("close took %v", took)
				}
			})
		})
	}
}

// TestClose holds what a close waits for: what is under way, but not for pauses, nor longer than its
// budget.
func TestClose(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(call string) fault
		after time.Duration // the session goes on for so long
		took  time.Duration // at most
		all   bool          // is shipped
	}{
		"quick":           {nil, 0, 0, true},
		"quick, later":    {nil, time.Hour, 0, true},
		"down":            {func(string) fault { return refuses }, 0, 0, false},
		"hangs":           {func(string) fault { return hangs }, 0, time.Second, false},
		"hangs for long":  {func(string) fault { return hangs }, 3 * time.Second, 0, false},
		"appends hang":    {func(call string) fault { return map[string]fault{"append": hangs}[call] }, 3 * time.Second, 0, false},
		"releasing hangs": {func(call string) fault { return map[string]fault{"release": hangs}[call] }, 0, 1500 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer()
				server.setFault(c.fault)
				o := New(newLocal(), server.open, Options{})
				events := testLog(1, 1000, true)
				p := mustSpool(t, o, events[0])
				mustWrite(t, p, events[1:]...)
				<-time.After(c.after)
				synctest.Wait()
				mustClose(t, p)
				began := time.Now()
				mustClose(t, o)
				if took := time.Since(began); took > c.took {
					t.Errorf("close took %v, and %v is the most", took, c.took)
				}
				if c.all {
					wantShared(t, server.store, testID(1), events)
				}
				if _, err := o.Spool(t.Context(), testLog(2, 1, false)[0]); !errors.Is(err, store.ErrClosed) {
					t.Errorf("a session after the close: %v", err)
				}
			})
		})
	}
}

// TestCloseDeaf holds that a close leaves an adapter behind that does not hear it, before a client that
// gives its server two seconds kills it.
func TestCloseDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		open := func(context.Context) (Shared, error) {
			<-released
			return nil, errors.New("no server")
		}
		o := New(newLocal(), open, Options{})
		p := mustSpool(t, o, testLog(1, 1, false)[0])
		mustClose(t, p)
		began := time.Now()
		if err := o.Close(); err == nil || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("close: %v", err)
		}
		if took := time.Since(began); took > 1500*time.Millisecond {
			t.Errorf("close took %v", took)
		}
		close(released)
		synctest.Wait()
	})
}

// TestMask holds that nothing leaves unmasked, and that a summary is made of the masked events.
func TestMask(t *testing.T) {
	hide := func(e store.Event) store.Event {
		if e.Kind == store.Frame {
			e.Payload = []byte(`{"masked":true}`)
			e.Redacted = 1
		}
		return e
	}
	for name, c := range map[string]struct {
		mask func(store.Header) (func(store.Event) store.Event, error)
		want string // of the trouble
	}{
		"masked":  {func(store.Header) (func(store.Event) store.Event, error) { return hide, nil }, ""},
		"bad":     {func(store.Header) (func(store.Event) store.Event, error) { return nil, errors.New("bad rule") }, "bad rule"},
		"nothing": {func(store.Header) (func(store.Event) store.Event, error) { return nil, nil }, "there is none"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer()
				var told troubles
				o := New(newLocal(), server.open, Options{Mask: c.mask, Trouble: told.add, Summarize: func() Summary { return &lengths{} }})
				events := testLog(1, 100, true)
				p := mustSpool(t, o, events[0])
				mustWrite(t, p, events[1:]...)
				mustClose(t, p)
				<-time.After(time.Minute)
				synctest.Wait()
				if list := told.told(); c.want != "" && (len(list) != 1 || !strings.Contains(list[0], c.want)) {
					t.Errorf("trouble %q, want %s", list, c.want)
				}
				if c.want != "" {
					if _, err := server.store.Head(t.Context(), testID(1)); !errors.Is(err, store.ErrNotFound) {
						t.Errorf("the shared store has the session: %v", err)
					}
				} else {
					var masked []store.Event
					sum := &lengths{}
					for _, e := range events {
						masked = append(masked, hide(e))
						_ = sum.Apply(hide(e))
					}
					wantShared(t, server.store, testID(1), masked)
					for x := range server.store.Sessions(t.Context(), store.Query{}) {
						kept, err := server.store.Summaries(t.Context(), []store.Session{x})
						if err != nil || string(kept[x.ID]) != string(sum.Data()) {
							t.Errorf("summary %v, %v; want %v", kept, err, sum.Data())
						}
					}
				}
				mustClose(t, o)
			})
		})
	}
}

// lengths is a summary of the lengths of the payloads.
type lengths struct{ data []byte }

func (l *lengths) Apply(e store.Event) error {
	l.data = append(l.data, byte(len(e.Payload)))
	return nil
}

func (l *lengths) Data() []byte { return l.data }

// TestStopped holds that a session is not forced upon a shared store that has another one: the user is
// told once, the recording goes on and stays.
func TestStopped(t *testing.T) {
	other := testLog(1, 5, false)
	other[2].Payload = []byte("{}")
	for name, c := range map[string]struct {
		before func(t *testing.T, s *memstore.Store)
		fault  error
		fate   Fate // of a later flush
	}{
		"another recording": {func(t *testing.T, s *memstore.Store) {
			if _, err := s.Append(t.Context(), testID(1), 0, other); err != nil {
				t.Fatal(err)
			}
		}, &store.ConflictError{}, Kept},
		"claimed": {func(t *testing.T, s *memstore.Store) {
			if _, err := s.Claim(t.Context(), testID(1)); err != nil {
				t.Fatal(err)
			}
		}, store.ErrLive, Waits},
		"deleted": {func(t *testing.T, s *memstore.Store) {
			_, err := s.Append(t.Context(), testID(1), 0, other)
			if err := errors.Join(err, s.Delete(t.Context(), testID(1))); err != nil {
				t.Fatal(err)
			}
		}, store.ErrExists, Kept},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer()
				c.before(t, server.store)
				local := newLocal()
				var told troubles
				o := New(local, server.open, Options{Trouble: told.add})
				events := testLog(1, 200, true)
				p := mustSpool(t, o, events[0])
				synctest.Wait()
				if list := told.told(); len(list) != 1 {
					t.Errorf("trouble at the start: %q", list)
				}
				for _, e := range events[1:] {
					mustWrite(t, p, e)
					<-time.After(time.Second)
				}
				mustClose(t, p)
				synctest.Wait()
				if list := told.told(); len(list) != 1 {
					t.Errorf("trouble: %q", list)
				}
				conflict := (*store.ConflictError)(nil)
				if err := o.Stats().LastError; !errors.Is(err, c.fault) && !(errors.As(err, &conflict) && errors.As(c.fault, &conflict)) {
					t.Errorf("last error %v, want %v", err, c.fault)
				}
				for range 2 {
					found, err := flushAll(t, o)
					if got := found[testID(1)]; err != nil || got.Fate != c.fate || got.Err == nil {
						t.Errorf("flushed %+v, %v; want %s", got, err, c.fate)
					}
				}
				if len(told.told()) != 1 {
					t.Errorf("trouble was told again: %q", told.told())
				}
				wantShared(t, o, testID(1), events)
				mustClose(t, o)
			})
		})
	}
}

// TestClaimLost: another claims the session while it is shipped, and the first stops.
func TestClaimLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		var told troubles
		o := New(newLocal(), server.open, Options{Trouble: told.add})
		events := testLog(1, 100, true)
		p := mustSpool(t, o, events[0])
		mustWrite(t, p, events[1:50]...)
		<-time.After(time.Second)
		server.setFault(func(call string) fault {
			return map[string]fault{"append": taken}[call]
		})
		mustWrite(t, p, events[50:]...)
		mustClose(t, p)
		<-time.After(time.Second)
		synctest.Wait()
		if list := told.told(); len(list) != 1 || !strings.Contains(list[0], "another recorder has claimed it") {
			t.Errorf("trouble: %q", list)
		}
		mustClose(t, o)
	})
}
