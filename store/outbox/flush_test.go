package outbox

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
)

// shorten replaces the shared store by one that has lost the end of its sessions.
func (s *sharedServer) shorten(t testing.TB, left int) {
	t.Helper()
	old := s.now()
	fresh := memstore.New()
	for x, err := range old.Sessions(context.Background(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		var events []store.Event
		for e := range old.Read(context.Background(), x.ID, 1, store.ReadOptions{}) {
			events = append(events, e)
		}
		if _, err := fresh.Append(context.Background(), x.ID, 0, events[:min(left, len(events))]); err != nil {
			t.Fatal(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store = fresh
}

// TestFlush takes a session of a dead recorder through a flush after the other.
func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		local := newLocal()
		sealed, torn := testLog(1, 300, true), testLog(2, 70, false)
		record(t, local, sealed)
		record(t, local, torn)
		boot, up := "a", time.Hour
		o := New(local, server.open, Options{Uptime: func() (string, time.Duration) { return boot, up }})
		pass := func(d time.Duration) {
			<-time.After(d)
			up += d
		}
		want := func(fate Fate, sent int, left time.Duration) {
			t.Helper()
			found, err := flushAll(t, o)
			if err != nil {
				t.Fatal(err)
			}
			for id, events := range map[store.SessionID]int{testID(1): 300, testID(2): 70} {
				got := found[id]
				if got.Fate != fate || int(got.Sent) != min(sent, events) || got.Left != left || got.Err != nil {
					t.Errorf("flushed %+v; want %s, %d sent, %v left", got, fate, sent, left)
				}
			}
		}
		want(Sent, 300, 5*time.Minute)
		wantShared(t, server.now(), testID(1), sealed)
		wantShared(t, server.now(), testID(2), torn)
		want(Held, 0, 5*time.Minute)
		pass(4 * time.Minute)
		want(Held, 0, time.Minute)
		<-time.After(time.Hour) // the clock jumps, and the machine has not run for as long
		want(Held, 0, time.Minute)
		pass(2 * time.Minute)
		server.shorten(t, 0) // it has lost all
		want(Sent, 300, 5*time.Minute)
		boot = "b" // the machine is started again
		up = time.Minute
		want(Held, 0, 4*time.Minute)
		pass(4 * time.Minute)
		want(Freed, 0, 0)
		if !slices.Equal(local.released, []store.SessionID{testID(1), testID(2)}) {
			t.Errorf("released %v", local.released)
		}
		if found, err := flushAll(t, o); len(found) > 0 || err != nil {
			t.Errorf("flushed %v, %v", found, err)
		}
		wantShared(t, server.now(), testID(1), sealed)
		mustClose(t, o)
	})
}

// TestFlushShorter: what a server has lost after it was acknowledged is appended again, wherever its
// log ends.
func TestFlushShorter(t *testing.T) {
	for _, left := range []int{0, 1, batchEvents - 1, batchEvents, 270, 299} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer()
			local := newLocal()
			events := testLog(1, 300, true)
			record(t, local, events)
			o := New(local, server.open, Options{})
			found, err := flushAll(t, o)
			if err != nil || found[testID(1)].Fate != Sent {
				t.Fatalf("flushed %+v, %v", found, err)
			}
			<-time.After(time.Hour)
			server.shorten(t, left)
			mustClose(t, o)
			o = New(local, server.open, Options{Uptime: func() (string, time.Duration) { return "", 0 }})
			found, err = flushAll(t, o)
			if got := found[testID(1)]; err != nil || got.Fate != Sent || int(got.Sent) != 300-left {
				t.Errorf("%d left: flushed %+v, %v", left, got, err)
			}
			wantShared(t, server.now(), testID(1), events)
			if len(local.released) > 0 {
				t.Error("the spool went")
			}
			mustClose(t, o)
		})
	}
}

// TestShorterTwice: a flush that ends in the middle of appending again leaves no complete session.
func TestShorterTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		local := newLocal()
		events := testLog(1, 2*batchEvents, true)
		record(t, local, events)
		o := New(local, server.open, Options{Uptime: func() (string, time.Duration) { return "", 0 }})
		for _, want := range []Fate{Sent, Waits, Sent, Freed} {
			found, err := flushAll(t, o)
			if got := found[testID(1)]; err != nil || got.Fate != want {
				t.Errorf("flushed %+v, %v; want %s", got, err, want)
			}
			if want == Sent || want == Freed {
				wantShared(t, server.now(), testID(1), events)
			}
			<-time.After(time.Hour)
			switch {
			case want == Sent && server.fault == nil:
				server.shorten(t, batchEvents/2)
				appends := 0
				server.setFault(func(call string) fault {
					if call == "append" {
						appends++
					}
					return map[bool]fault{true: refuses}[appends > 1 && call == "append"]
				})
			case want == Waits:
				server.setFault(func(string) fault { return works })
			}
		}
		mustClose(t, o)
	})
}

// TestLiveShorter: the same while the session is recorded.
func TestLiveShorter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		local := newLocal()
		o := New(local, server.open, Options{})
		events := testLog(1, 300, true)
		p := mustSpool(t, o, events[0])
		mustWrite(t, p, events[1:200]...)
		<-time.After(time.Second)
		synctest.Wait()
		wantShared(t, server.now(), testID(1), events[:200])
		server.shorten(t, 120)
		server.setFault(func(string) fault { return broken }) // its connections end with the server
		mustWrite(t, p, events[200:250]...)
		<-time.After(time.Second)
		server.setFault(nil)
		<-time.After(time.Minute)
		synctest.Wait()
		wantShared(t, server.now(), testID(1), events[:250])
		mustWrite(t, p, events[250:]...)
		mustClose(t, p)
		mustClose(t, o)
		wantShared(t, server.now(), testID(1), events)
	})
}

// TestConflictShorter: the log is shorter, and the connection as it was.
func TestConflictShorter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		o := New(newLocal(), server.open, Options{})
		events := testLog(1, 300, true)
		p := mustSpool(t, o, events[0])
		mustWrite(t, p, events[1:200]...)
		<-time.After(time.Second)
		synctest.Wait()
		server.shorten(t, 120)
		mustWrite(t, p, events[200:]...)
		mustClose(t, p)
		<-time.After(time.Second)
		synctest.Wait()
		wantShared(t, server.now(), testID(1), events)
		mustClose(t, o)
	})
}

// TestFlushLive: sessions of live recorders are left alone, and those that this process still ships.
func TestFlushLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		local := newLocal()
		p, err := local.Spool(t.Context(), testLog(1, 1, false)[0]) // of another process
		if err != nil {
			t.Fatal(err)
		}
		o := New(local, server.open, Options{})
		own := mustSpool(t, o, testLog(2, 1, false)[0])
		if found, err := flushAll(t, o); len(found) > 0 || err != nil {
			t.Errorf("flushed %v, %v", found, err)
		}
		if _, err := server.now().Head(t.Context(), testID(1)); err == nil {
			t.Error("another recorder's live session is shipped")
		}
		<-time.After(time.Second)
		server.setFault(func(call string) fault { return map[string]fault{"append": refuses}[call] })
		mustWrite(t, own, testLog(2, 9, true)[1:]...)
		mustClose(t, own)
		<-time.After(time.Second)
		if found, err := flushAll(t, o); len(found) > 0 || err != nil {
			t.Errorf("flushed what is still shipped: %v, %v", found, err)
		}
		mustClose(t, p)
		mustClose(t, o)
	})
}

// TestFlushAlone: one flush at a time.
func TestFlushAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		server.setFault(func(string) fault { return hangs })
		local := newLocal()
		record(t, local, testLog(1, 10, true))
		first := New(local, server.open, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- first.Flush(ctx, func(Flushed) {}) }()
		synctest.Wait()
		second := New(local, server.open, Options{})
		if _, err := flushAll(t, second); !errors.Is(err, store.ErrBusy) {
			t.Errorf("a second flush: %v", err)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled flush: %v", err)
		}
		server.setFault(nil)
		if found, err := flushAll(t, second); err != nil || found[testID(1)].Fate != Sent {
			t.Errorf("flushed %v, %v", found, err)
		}
		mustClose(t, first)
		mustClose(t, second)
	})
}

// TestFlushFaults: a flush ends in a while, whatever the shared store does, and the next one goes on.
func TestFlushFaults(t *testing.T) {
	for name, call := range map[string]string{"open": "open", "claim": "claim", "head": "head", "append": "append"} {
		for _, kind := range []fault{refuses, hangs, broken, late, forgets, gone} {
			t.Run(name+" "+string(kind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := newServer()
					local := newLocal()
					for i := range 3 {
						record(t, local, testLog(i, batchEvents+36, true))
					}
					n := 0
					server.setFault(func(name string) fault {
						if name == call {
							if n++; n > 1 || call != "append" { // the first batch passes
								return kind
							}
						}
						return works
					})
					o := New(local, server.open, Options{})
					began := time.Now()
					found, err := flushAll(t, o)
					if took := time.Since(began); took > 10*time.Minute {
						t.Errorf("it took %v", took)
					}
					if (err != nil) != (call == "open" && kind != broken) && call == "open" {
						t.Errorf("flush: %v", err)
					}
					waits := 0
					for id, got := range found {
						if got.Fate == Waits && got.Err != nil {
							waits++
						} else if got.Fate != Sent {
							t.Errorf("session %s: %+v", id, got)
						}
					}
					passes := kind == late || kind == forgets || call == "open" && kind == broken || call == "head" && kind == gone
					if waits == 0 && !passes {
						t.Errorf("flushed %+v", found)
					}
					server.setFault(nil)
					<-time.After(time.Hour) // claims lapse
					if _, err = flushAll(t, o); err != nil {
						t.Errorf("flush: %v", err)
					}
					for i := range 3 {
						wantShared(t, server.now(), testID(i), testLog(i, batchEvents+36, true))
						if !local.state(testID(i)).Complete && !slices.Contains(local.released, testID(i)) {
							t.Errorf("session %d is not complete", i)
						}
					}
					mustClose(t, o)
				})
			})
		}
	}
}

// TestClockSetBack begins the hold-back anew where only the clock tells the time.
func TestClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		local := newLocal()
		record(t, local, testLog(1, 10, true))
		o := New(local, server.open, Options{Uptime: func() (string, time.Duration) { return "", 0 }})
		if _, err := flushAll(t, o); err != nil {
			t.Fatal(err)
		}
		ahead := local.state(testID(1))
		ahead.Acknowledged = time.Now().AddDate(1, 0, 0)
		if err := local.KeepShippedState(testID(1), ahead.encode()); err != nil {
			t.Fatal(err)
		}
		for _, want := range []Flushed{{Fate: Held, Left: 5 * time.Minute}, {Fate: Held, Left: time.Minute}, {Fate: Freed}} {
			found, err := flushAll(t, o)
			if got := found[testID(1)]; err != nil || got.Fate != want.Fate || got.Left != want.Left {
				t.Errorf("flushed %+v, %v; want %+v", got, err, want)
			}
			<-time.After(4 * time.Minute)
		}
		mustClose(t, o)
	})
}

// TestTooLarge: an event that the shared store does not take keeps its number and its place there, and
// the spool, which has it whole, stays.
func TestTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		server.limit = 1 << 20
		local := newLocal()
		var told troubles
		o := New(local, server.open, Options{Trouble: told.add})
		events := testLog(1, 200, true)
		events[100].Payload = bytes.Repeat([]byte("x"), 3<<20)
		events[101].Payload = bytes.Repeat([]byte("y"), 1<<20) // this is the most
		p := mustSpool(t, o, events[0])
		mustWrite(t, p, events[1:]...)
		mustClose(t, p)
		<-time.After(time.Minute)
		synctest.Wait()
		shipped := slices.Clone(events)
		shipped[100].Payload = shipped[100].Payload[:cutTo]
		shipped[100].Cut = 3<<20 - cutTo
		wantShared(t, server.now(), testID(1), shipped)
		if list := told.told(); len(list) != 1 || !strings.Contains(list[0], "event 101 has 3.0 MiB") {
			t.Errorf("trouble: %q", list)
		}
		if got := o.Stats(); got.Cut != 1 {
			t.Errorf("stats %+v", got)
		}
		<-time.After(time.Hour)
		found, err := flushAll(t, o)
		if got := found[testID(1)]; err != nil || got.Fate != Kept || got.Err == nil {
			t.Errorf("flushed %+v, %v", got, err)
		}
		wantShared(t, o, testID(1), events)
		mustClose(t, o)

		// A flush by another process cuts at the same place.
		server.shorten(t, 150)
		known := local.state(testID(1))
		known.Complete = false
		if err := local.KeepShippedState(testID(1), known.encode()); err != nil {
			t.Fatal(err)
		}
		o = New(local, server.open, Options{})
		if found, err = flushAll(t, o); err != nil || found[testID(1)].Fate != Sent {
			t.Errorf("flushed %+v, %v", found, err)
		}
		wantShared(t, server.now(), testID(1), shipped)
		mustClose(t, o)
	})
}

// TestRulesChanged: a session goes on behind what was masked by other rules or with another key, also
// where a killed process has not noted all that was acknowledged.
func TestRulesChanged(t *testing.T) {
	masked := func(by string) func(store.Header) (func(store.Event) store.Event, error) {
		return func(store.Header) (func(store.Event) store.Event, error) {
			return func(e store.Event) store.Event {
				if e.Kind == store.Frame {
					e.Payload = []byte(by)
				}
				return e
			}, nil
		}
	}
	for name, noted := range map[string]int{"all noted": 100, "half noted": 50} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer()
				local := newLocal()
				events := testLog(1, 200, true)
				o := New(local, server.open, Options{Mask: masked("old")})
				p := mustSpool(t, o, events[0])
				mustWrite(t, p, events[1:noted]...)
				<-time.After(time.Minute)
				state, err := local.ShippedState(testID(1))
				if seq := parseState(state).Head.Seq; err != nil || seq == 0 || seq > uint64(noted) {
					t.Fatalf("state %s, %v", state, err)
				}
				mustWrite(t, p, events[noted:100]...)
				<-time.After(time.Minute)
				server.setFault(func(string) fault { return refuses })
				mustWrite(t, p, events[100:]...)
				mustClose(t, p)
				mustClose(t, o)
				server.setFault(nil)
				if noted < 100 {
					if err := local.KeepShippedState(testID(1), state); err != nil {
						t.Error(err)
					}
				}
				<-time.After(time.Minute)
				o = New(local, server.open, Options{Mask: masked("new")})
				found, err := flushAll(t, o)
				if got := found[testID(1)]; err != nil || got.Fate != Sent || got.Sent != 100 {
					t.Errorf("flushed %+v, %v", got, err)
				}
				for i := 1; i < 199; i++ {
					events[i].Payload = []byte("old")
					if i >= 100 {
						events[i].Payload = []byte("new")
					}
				}
				wantShared(t, server.now(), testID(1), events)
				mustClose(t, o)
			})
		})
	}
}

// TestDeletedLater: somebody deletes a complete session in the shared store, and the spool goes too.
func TestDeletedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		local := newLocal()
		record(t, local, testLog(1, 20, true))
		o := New(local, server.open, Options{Uptime: func() (string, time.Duration) { return "", 0 }})
		if found, err := flushAll(t, o); err != nil || found[testID(1)].Fate != Sent {
			t.Fatalf("flushed %v, %v", found, err)
		}
		if err := server.now().Delete(t.Context(), testID(1)); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		if found, err := flushAll(t, o); err != nil || found[testID(1)].Fate != Freed || found[testID(1)].Err != nil {
			t.Errorf("flushed %v, %v", found, err)
		}
		mustClose(t, o)
	})
}

// TestSharedDiffers: after a power cut the shared store may have more than the disk. Another recording
// under the same id is left as it is.
func TestSharedDiffers(t *testing.T) {
	for name, c := range map[string]struct {
		shared []store.Event
		fate   Fate
	}{
		"more":              {testLog(1, 120, false), Sent},
		"more, another":     {otherLog(1, 120), Kept},
		"another":           {otherLog(1, 100), Kept},
		"another, shorter":  {otherLog(1, 50), Kept},
		"another beginning": {otherLog(1, 2), Kept},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer()
				if _, err := server.now().Append(t.Context(), testID(1), 0, c.shared); err != nil {
					t.Fatal(err)
				}
				local := newLocal()
				record(t, local, testLog(1, 100, false))
				o := New(local, server.open, Options{Uptime: func() (string, time.Duration) { return "", 0 }})
				for _, want := range []Fate{c.fate, map[Fate]Fate{Sent: Freed, Kept: Kept}[c.fate]} {
					found, err := flushAll(t, o)
					if err != nil || found[testID(1)].Fate != want {
						t.Errorf("flushed %+v, %v; want %s", found, err, want)
					}
					<-time.After(time.Hour)
				}
				wantShared(t, server.now(), testID(1), c.shared)
				mustClose(t, o)
			})
		})
	}
}

// otherLog is another recording under the id of testLog.
func otherLog(i, n int) []store.Event {
	events := testLog(i, n, false)
	for k := range events[1:] {
		events[k+1].At++
	}
	return events
}

// TestFull: at the limit writes are refused, except for the log's own events, until there is room.
func TestFull(t *testing.T) {
	for name, limits := range map[string]Options{
		"session": {SessionLimit: 10 << 10},
		"total":   {TotalLimit: 10 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer()
				server.setFault(func(call string) fault { return map[string]fault{"append": refuses}[call] })
				limits.Target = "nats://example"
				o := New(newLocal(), server.open, limits)
				events := testLog(1, 1000, false)
				p := mustSpool(t, o, events[0])
				written := 1
				var err error
				for err == nil {
					if err = p.Write(asParts(events[written : written+1])); err == nil {
						written++
					}
				}
				full := (*FullError)(nil)
				if !errors.As(err, &full) || store.RootCause(err) != error(full) || full.Waiting > 10<<10 || full.Waiting < 9<<10 ||
					!strings.HasSuffix(err.Error(), "KiB wait for nats://example") {
					t.Errorf("refused with %v", err)
				}
				end := []store.Event{{Seq: uint64(written + 1), At: time.Hour, Kind: store.Lost, Payload: store.EncodePayload(store.LostInfo{Frames: 7})}}
				mustWrite(t, p, end...)
				if err := p.Write([]store.Part{{Event: store.Event{Seq: uint64(written + 2), At: time.Hour, Kind: store.Frame}}}); !errors.As(err, &full) {
					t.Errorf("behind the lost event: %v", err)
				}
				server.setFault(nil)
				<-time.After(time.Minute)
				more := store.Event{Seq: uint64(written + 2), At: time.Hour, Kind: store.Frame, Payload: []byte("{}")}
				mustWrite(t, p, more)
				mustClose(t, p)
				mustClose(t, o)
				wantShared(t, server.now(), testID(1), slices.Concat(events[:written], end, []store.Event{more}))
				if got := o.Stats(); got.Refused != 2 || got.Lost != 7 {
					t.Errorf("stats %+v", got)
				}
			})
		})
	}
}

// TestFullOfOthers: what dead recorders left counts, until it is shipped.
func TestFullOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		server.setFault(func(string) fault { return refuses })
		local := newLocal()
		record(t, local, testLog(1, 400, true))
		o := New(local, server.open, Options{TotalLimit: 10 << 10})
		events := testLog(2, 100, true)
		p := mustSpool(t, o, events[0])
		synctest.Wait()
		full := (*FullError)(nil)
		if err := p.Write(asParts(events[1:2])); !errors.As(err, &full) {
			t.Errorf("write: %v", err)
		}
		server.setFault(nil)
		if _, err := flushAll(t, o); err != nil {
			t.Error(err)
		}
		if left := o.Stats().BytesLeft; left != 0 {
			t.Errorf("%d bytes are left", left)
		}
		mustWrite(t, p, events[1:]...)
		mustClose(t, p)
		<-time.After(time.Minute)
		mustClose(t, o)
		wantShared(t, server.now(), testID(2), events)
	})
}

// TestLook: what is left is told before and after it was sent, and looking sends nothing.
func TestLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		local := newLocal()
		record(t, local, testLog(1, 300, true))
		o := New(local, server.open, Options{})
		look := func(complete bool) {
			t.Helper()
			list, err := o.Look(t.Context())
			if err != nil || len(list) != 1 || list[0].ID != testID(1) || list[0].Complete != complete || list[0].Live || list[0].Stopped != "" {
				t.Errorf("left are %+v, %v; want complete %v", list, err, complete)
			}
		}
		look(false)
		look(false)
		if _, err := flushAll(t, o); err != nil {
			t.Fatal(err)
		}
		look(true)
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
