package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/store/share/stream"
	"github.com/mcprec/mcprec/transport"
)

const testID = store.SessionID("01a17814-ee00-7000-8000-000000000001")

// testLog returns a log of n events.
func testLog(n int, sealed bool) []store.Event {
	header := store.Header{ID: testID, Start: time.Now().UTC(), Transport: "stdio", Command: []string{"server"}}
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: header.Encode()}}
	for len(events) < n {
		seq := uint64(len(events) + 1)
		events = append(events, store.Event{Seq: seq, Kind: store.Frame, Dir: transport.ClientToServer, Payload: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping","secret":"hunter2"}`, seq)})
	}
	if sealed {
		events[n-1] = store.Event{Seq: uint64(n), Kind: store.Closed, Payload: store.EncodePayload(store.ClosedInfo{})}
	}
	return events
}

// folder is a store in memory, and the folder for a push's own files.
type folder struct {
	*memstore.Store
	dir string
}

func (f folder) Info() store.Info { return store.Info{Location: f.dir} }

// newFolder returns a folder with sessions.
func newFolder(t *testing.T, logs ...[]store.Event) folder {
	t.Helper()
	f := folder{memstore.New(), t.TempDir()}
	for _, events := range logs {
		if _, err := f.Append(t.Context(), testID, 0, events); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// fake is a stream in memory whose calls fail as a test says.
type fake struct {
	mu      sync.Mutex
	log     *memstore.Store
	fail    func(events []store.Event) (before, after error) // of an Append: it was not stored, or was
	entries []stream.Entry
	opened  int
	largest int // bytes of a payload; 0: any
	deaf    int // how many entries are not taken
}

func newFake() *fake { return &fake{log: memstore.New()} }

func (f *fake) open(context.Context) (Stream, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened++
	return f, nil
}

func (f *fake) Head(ctx context.Context, id store.SessionID) (store.Head, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.Head(ctx, id)
}

func (f *fake) Append(ctx context.Context, id store.SessionID, after uint64, events []store.Event) (store.Head, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.largest > 0 && slices.ContainsFunc(events, func(e store.Event) bool { return len(e.Payload) > f.largest }) {
		return store.Head{}, stream.ErrTooLarge
	}
	var unheard error
	if f.fail != nil {
		var refused error
		if refused, unheard = f.fail(events); refused != nil {
			return store.Head{}, refused
		}
	}
	head, err := f.log.Append(ctx, id, after, events)
	return head, errors.Join(err, unheard)
}

func (f *fake) Read(ctx context.Context, id store.SessionID, from uint64, _ func() bool) iter.Seq2[store.Event, error] {
	return f.log.Read(ctx, id, from, store.ReadOptions{})
}

func (f *fake) Tell(_ context.Context, e stream.Entry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deaf > 0 {
		f.deaf--
		return io.ErrUnexpectedEOF
	}
	f.entries = append(f.entries, e)
	return nil
}

func (f *fake) Close() error { return nil }

// lose leaves of the log what a power cut would.
func (f *fake) lose(t *testing.T, events []store.Event) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = memstore.New()
	if len(events) > 0 {
		if _, err := f.log.Append(t.Context(), testID, 0, events); err != nil {
			t.Fatal(err)
		}
	}
}

// holds holds that the log has exactly these events.
func (f *fake) holds(t *testing.T, want []store.Event) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var got []store.Event
	for e, err := range f.log.Read(t.Context(), testID, 1, store.ReadOptions{}) {
		if err != nil {
			t.Errorf("read: %v", err)
			return
		}
		got = append(got, e)
	}
	if !slices.EqualFunc(got, want, store.Event.Equal) {
		t.Errorf("the stream has %d events, want %d", len(got), len(want))
	}
}

// uptime is that of a machine that began with the test's bubble.
func uptime() func() (string, time.Duration) {
	began := time.Now()
	return func() (string, time.Duration) { return "boot", time.Since(began) }
}

// run starts a push until the returned function is called.
func run(t *testing.T, f folder, to *fake, options Options) (p *Push, stop func()) {
	t.Helper()
	if options.Uptime == nil {
		options.Uptime = uptime()
	}
	p = New(f, to.open, options)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, Forever) }()
	synctest.Wait()
	return p, func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("push: %v", err)
		}
	}
}

// stateOf returns how far the session is.
func stateOf(t *testing.T, f folder) Left {
	t.Helper()
	list, err := Look(t.Context(), f, "")
	if err != nil || len(list) != 1 {
		t.Fatalf("look: %v, %v", list, err)
	}
	return list[0]
}

// TestHoldBack takes a session from its shipping to its end: what the stream loses before the hold-back is over is
// shipped again, wherever the log is cut, and also by a later push.
func TestHoldBack(t *testing.T) {
	for left := range 6 {
		for _, again := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d left, another push %v", left, again), func(t *testing.T) {
				dir := t.TempDir() // outside: it is removed after the bubble
				synctest.Test(t, func(t *testing.T) {
					events := testLog(6, true)
					f := folder{memstore.New(), dir}
					if _, err := f.Append(t.Context(), testID, 0, events); err != nil {
						t.Fatal(err)
					}
					up := uptime()
					to := newFake()
					_, stop := run(t, f, to, Options{Uptime: up})
					to.holds(t, events)
					if x := stateOf(t, f); x.State != "held" || x.Shipped != 6 {
						t.Errorf("shipped: %+v", x)
					}
					time.Sleep(4 * time.Minute)
					to.lose(t, events[:left])
					if again {
						stop()
						_, stop = run(t, f, to, Options{Uptime: up})
					}
					time.Sleep(2 * time.Minute)
					synctest.Wait()
					to.holds(t, events)
					if x := stateOf(t, f); x.State != "held" {
						t.Errorf("shipped again: %+v", x)
					}
					time.Sleep(6 * time.Minute)
					synctest.Wait()
					if x := stateOf(t, f); x.State != "done" {
						t.Errorf("at the end: %+v", x)
					}
					stop()
				})
			})
		}
	}
}

// TestLive follows a session: its events leave in batches, its entry is told in time, and once more at the end.
func TestLive(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		events := testLog(300, true)
		f := folder{memstore.New(), dir}
		spool, err := f.Spool(t.Context(), events[0])
		if err != nil {
			t.Fatal(err)
		}
		to := newFake()
		_, stop := run(t, f, to, Options{Machine: "here", Judge: func() Judge { return &sawFrames{} }})
		defer stop()
		time.Sleep(batchAge + time.Millisecond)
		to.holds(t, events[:1])
		for _, e := range events[1:] {
			if err := spool.Write([]store.Part{{Event: e}}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * batchAge)
		synctest.Wait()
		to.holds(t, events)
		time.Sleep(time.Minute)
		if err := spool.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		to.mu.Lock()
		defer to.mu.Unlock()
		if n := len(to.entries); n < 1 || n > 9 {
			t.Errorf("%d entries", n)
		}
		first, last := to.entries[0], to.entries[len(to.entries)-1]
		if !first.Live || first.Machine != "here" || first.ID() != testID || last.Live || last.Head.Seq != 300 || !last.Head.Sealed {
			t.Errorf("entries from %+v to %+v", first, last)
		}
	})
}

// sawFrames is a Judge.
type sawFrames struct{ frames int }

func (j *sawFrames) Apply(e store.Event) error {
	if e.Kind == store.Frame {
		j.frames++
	}
	return nil
}

func (j *sawFrames) Stuck(time.Duration) time.Duration { return time.Duration(j.frames) }

// TestBeats: the entry of a live session that says nothing is told ten times in 100 s, with what is stuck.
func TestBeats(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		events := testLog(3, false)
		f := folder{memstore.New(), dir}
		spool, err := f.Spool(t.Context(), events[0])
		if err == nil {
			err = spool.Write([]store.Part{{Event: events[1]}, {Event: events[2]}})
		}
		if err != nil {
			t.Fatal(err)
		}
		to := newFake()
		_, stop := run(t, f, to, Options{Judge: func() Judge { return &sawFrames{} }})
		time.Sleep(105 * time.Second)
		synctest.Wait()
		to.mu.Lock()
		if n := len(to.entries); n != 11 || to.entries[10].Stuck != 2 || !to.entries[10].Live {
			t.Errorf("%d entries, the last %+v", n, to.entries[n-1])
		}
		to.mu.Unlock()
		stop()
		to.mu.Lock()
		if last := to.entries[len(to.entries)-1]; last.Live {
			t.Errorf("the last entry of a push that was stopped: %+v", last)
		}
		to.mu.Unlock()
		if err := spool.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestFaults ships a session past faults of the stream: every event arrives once and in order.
func TestFaults(t *testing.T) {
	lost := io.ErrUnexpectedEOF
	for name, fail := range map[string]func(n int) (before, after error){
		"calls fail":                func(n int) (error, error) { return map[bool]error{true: lost}[n%3 != 0], nil },
		"answers are lost":          func(n int) (error, error) { return nil, map[bool]error{true: lost}[n%3 != 0] },
		"the connection is closed":  func(n int) (error, error) { return map[bool]error{true: store.ErrClosed}[n%2 == 0], nil },
		"nothing is taken for long": func(n int) (error, error) { return map[bool]error{true: lost}[n < 30], nil },
		"batches are too large":     func(n int) (error, error) { return nil, nil },
		"answers are lost, then none": func(n int) (error, error) {
			return map[bool]error{true: lost}[n%2 == 0], map[bool]error{true: lost}[n%4 == 1]
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				events := testLog(1000, true)
				f := folder{memstore.New(), dir}
				if _, err := f.Append(t.Context(), testID, 0, events); err != nil {
					t.Fatal(err)
				}
				to := newFake()
				to.deaf = 3
				calls := 0
				to.fail = func(events []store.Event) (before, after error) {
					if name == "batches are too large" && len(events) > 1 {
						return stream.ErrTooLarge, nil
					}
					calls++
					return fail(calls - 1)
				}
				_, stop := run(t, f, to, Options{})
				defer stop()
				time.Sleep(4 * time.Minute)
				synctest.Wait()
				to.holds(t, events)
				if n := len(to.entries); n == 0 || to.entries[n-1].Head.Seq != 1000 || to.entries[n-1].Live {
					t.Errorf("%d entries, which do not tell of the whole session", n)
				}
				if name == "the connection is closed" && to.opened < 2 {
					t.Error("no other connection was opened")
				}
			})
		})
	}
}

// TestCutEvent: an event that the stream does not take keeps its number and its place there, and its beginning,
// also after the stream has lost it.
func TestCutEvent(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		events := testLog(5, true)
		events[2].Payload = bytes.Repeat([]byte("x"), 2<<20)
		f := folder{memstore.New(), dir}
		if _, err := f.Append(t.Context(), testID, 0, events); err != nil {
			t.Fatal(err)
		}
		to := newFake()
		to.largest = 1 << 20
		var troubles []string
		_, stop := run(t, f, to, Options{Trouble: func(err error) { troubles = append(troubles, err.Error()) }})
		want := slices.Clone(events)
		want[2].Cut = 2<<20 - cutTo
		want[2].Payload = want[2].Payload[:cutTo]
		to.holds(t, want)
		if len(troubles) != 1 || !strings.Contains(troubles[0], "event 3 has 2.0 MiB, more than the stream takes; its first 256.0 KiB are shipped") {
			t.Errorf("troubles %q", troubles)
		}
		stop()
		to.lose(t, want[:1])
		_, stop = run(t, f, to, Options{HoldBack: time.Nanosecond})
		defer stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		to.holds(t, want)
	})
}

// TestMaskChanged: a session goes on behind what was masked by other rules or with another key.
func TestMaskChanged(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		masked := func(placeholder string) Options {
			return Options{HoldBack: time.Hour, Mask: func(store.Header) (func(store.Event) store.Event, error) {
				return func(e store.Event) store.Event {
					e.Payload = bytes.ReplaceAll(e.Payload, []byte("hunter2"), []byte(placeholder))
					return e
				}, nil
			}}
		}
		by := func(events []store.Event, placeholder string) (list []store.Event) {
			mask, _ := masked(placeholder).Mask(store.Header{})
			for _, e := range events {
				list = append(list, mask(e))
			}
			return list
		}
		events := testLog(8, true)
		f := folder{memstore.New(), dir}
		spool, err := f.Spool(t.Context(), events[0])
		if err != nil {
			t.Fatal(err)
		}
		write := func(events []store.Event) {
			t.Helper()
			for _, e := range events {
				if err := spool.Write([]store.Part{{Event: e}}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		to := newFake()
		_, stop := run(t, f, to, masked("one"))
		write(events[1:4])
		stop()
		_, stop = run(t, f, to, masked("another"))
		defer stop()
		write(events[4:])
		if err := spool.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		to.holds(t, append(by(events[:4], "one"), by(events[4:], "another")...))
		if x := stateOf(t, f); x.State != "held" {
			t.Errorf("the session is %+v", x)
		}
	})
}

// TestNotShipped: nothing leaves without its mask, nothing is forced upon a stream that has another recording, and
// what a power cut took back here stays there.
func TestNotShipped(t *testing.T) {
	events := testLog(8, false)
	other := testLog(8, false)
	other[4].Payload = []byte("{}")
	noMask := errors.New("the value of TOKEN is not known here")
	for name, c := range map[string]struct {
		here, there []store.Event
		mask        error
		state       string
		trouble     string
	}{
		"no mask":             {here: events, mask: noMask, state: "waiting", trouble: "the value of TOKEN is not known here"},
		"another recording":   {here: events, there: other, state: "refused", trouble: "another recording under this id, which ends at event 8"},
		"another, shorter":    {here: events, there: other[:6], state: "refused", trouble: "which ends at event 6"},
		"another, longer":     {here: events[:5], there: other, state: "refused", trouble: "which ends at event 8"},
		"a power cut here":    {here: events[:5], there: events, state: "held"},
		"the same, elsewhere": {here: events, there: events, state: "held"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				f := folder{memstore.New(), dir}
				if _, err := f.Append(t.Context(), testID, 0, c.here); err != nil {
					t.Fatal(err)
				}
				to := newFake()
				to.lose(t, c.there)
				var troubles []string
				options := Options{Trouble: func(err error) { troubles = append(troubles, err.Error()) }}
				if c.mask != nil {
					options.Mask = func(store.Header) (func(store.Event) store.Event, error) { return nil, c.mask }
				}
				_, stop := run(t, f, to, options)
				time.Sleep(30 * time.Second)
				synctest.Wait()
				if c.there != nil {
					to.holds(t, c.there)
				} else if _, err := to.Head(t.Context(), testID); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("something has left: %v", err)
				}
				if x := stateOf(t, f); x.State != c.state {
					t.Errorf("the session is %+v", x)
				}
				if got := strings.Join(troubles, "\n"); (c.trouble == "") != (got == "") || !strings.Contains(got, c.trouble) || len(troubles) > 1 {
					t.Errorf("troubles %q", troubles)
				}
				stop()
			})
		})
	}
}

// TestOnce: a Run that is to end does so when the stream has acknowledged everything, or has shown it after the
// hold-back, or takes nothing; and one push at a time works on a folder.
func TestOnce(t *testing.T) {
	for name, c := range map[string]struct {
		until Until
		fail  error
		want  error
		took  time.Duration
	}{
		"shipped":          {until: Shipped, took: 0},
		"safe":             {until: Safe, took: 5 * time.Minute},
		"nothing is taken": {until: Shipped, fail: io.ErrUnexpectedEOF, want: io.ErrUnexpectedEOF, took: giveUpAfter},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				events := testLog(4, true)
				f := folder{memstore.New(), dir}
				if _, err := f.Append(t.Context(), testID, 0, events); err != nil {
					t.Fatal(err)
				}
				to := newFake()
				to.fail = func([]store.Event) (before, after error) { return c.fail, nil }
				p := New(f, to.open, Options{Uptime: uptime()})
				began := time.Now()
				if err := p.Run(t.Context(), c.until); !errors.Is(err, c.want) {
					t.Errorf("run: %v, want %v", err, c.want)
				}
				if took := time.Since(began); took < c.took || took > c.took+time.Second {
					t.Errorf("it took %v, want %v", took, c.took)
				}
				if c.want == nil {
					to.holds(t, events)
				}
				_, stop := run(t, f, to, Options{})
				if err := New(f, to.open, Options{}).Run(t.Context(), Shipped); !errors.Is(err, store.ErrBusy) {
					t.Errorf("a second push: %v", err)
				}
				stop()
			})
		})
	}
}

// TestForgotten: what a push knew of a session that was removed from the folder goes.
func TestForgotten(t *testing.T) {
	f := newFolder(t, testLog(4, true))
	to := newFake()
	if err := New(f, to.open, Options{}).Run(t.Context(), Shipped); err != nil {
		t.Fatal(err)
	}
	p := New(f, to.open, Options{})
	if err := p.Run(t.Context(), Shipped); err != nil {
		t.Fatal(err)
	}
	if known, err := p.states.read(testID); err != nil || !known.Complete {
		t.Errorf("known %+v, %v", known, err)
	}
	if err := f.Delete(t.Context(), testID); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context(), Shipped); err != nil {
		t.Fatal(err)
	}
	if known, err := p.states.read(testID); err != nil || known.Complete {
		t.Errorf("known after the removal %+v, %v", known, err)
	}
}
