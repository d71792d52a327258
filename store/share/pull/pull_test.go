package pull

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/share/stream"
	"github.com/mcprec/mcprec/transport"
)

const testID = store.SessionID("01a17814-ee00-7000-8000-000000000001")

// testLog returns a log of n events, which is sealed.
func testLog(n int, start time.Time) []store.Event {
	header := store.Header{ID: testID, Start: start.UTC(), Transport: "stdio", Label: "one"}
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: header.Encode()}}
	for len(events) < n-1 {
		events = append(events, store.Event{Seq: uint64(len(events) + 1), Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte(`{"jsonrpc":"2.0","method":"ping"}`)})
	}
	return append(events, store.Event{Seq: uint64(n), Kind: store.Closed, Payload: store.EncodePayload(store.ClosedInfo{})})
}

// fake is a stream with one session: its entries, each with the error behind it, and what reading yields, each
// time up to an event.
type fake struct {
	entries []any // stream.Entry or error
	events  []store.Event

	mu    sync.Mutex
	upTo  []int // of the next readings; then all
	fault error // at the end of those
	reads []uint64
}

func (f *fake) Entries(ctx context.Context, follow bool) iter.Seq2[stream.Entry, error] {
	return func(yield func(stream.Entry, error) bool) {
		for len(f.entries) > 0 {
			next := f.entries[0]
			f.entries = f.entries[1:]
			switch next := next.(type) {
			case error:
				yield(stream.Entry{}, next)
				return
			case stream.Entry:
				if !yield(next, nil) {
					return
				}
			}
		}
		if follow {
			<-ctx.Done()
			yield(stream.Entry{}, ctx.Err())
		}
	}
}

func (f *fake) Read(_ context.Context, _ store.SessionID, from uint64, _ func() bool) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		f.mu.Lock()
		f.reads = append(f.reads, from)
		last, fault := len(f.events), error(nil)
		if len(f.upTo) > 0 {
			last, fault = f.upTo[0], f.fault
			f.upTo = f.upTo[1:]
		}
		f.mu.Unlock()
		for i := from - 1; i < uint64(last); i++ {
			if !yield(f.events[i], nil) {
				return
			}
		}
		if fault != nil {
			yield(store.Event{}, fault)
		}
	}
}

func (f *fake) Head(context.Context, store.SessionID) (store.Head, error) { return store.Head{}, nil }

// entry tells of the session, from a machine whose clock seems to be ahead.
func entry(live bool, ahead time.Duration) stream.Entry {
	return stream.Entry{Header: store.Header{ID: testID, Label: "one"}, Head: store.Head{Seq: 5, Sealed: !live}, Live: live,
		LiveUntil: time.Now().Add(time.Hour), Ahead: ahead}
}

// run pulls until the session has come, with the others that were said before.
func run(t *testing.T, db *boltstore.Store, f *fake, follow bool) (said []Arrival) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := Run(ctx, db, f, Options{Follow: follow, Said: func(a Arrival) {
		said = append(said, a)
		if a.ID != "" && a.State != store.Live && follow {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func open(t *testing.T) *boltstore.Store {
	t.Helper()
	db, err := boltstore.Open(t.TempDir(), boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// listed returns the session of the folder, and its events.
func listed(t *testing.T, db *boltstore.Store) (found store.Session, events []store.Event) {
	t.Helper()
	for x, err := range db.Sessions(t.Context(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		found = x
	}
	for e, err := range db.Read(t.Context(), testID, 1, store.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return found, events
}

// TestClock: the start of a live session is moved only if two entries agree that its machine's clock is wrong.
func TestClock(t *testing.T) {
	start := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		entries []any
		moved   time.Duration
		label   string
	}{
		"right":              {[]any{entry(true, 0)}, 0, ""},
		"an hour ahead":      {[]any{entry(true, time.Hour), entry(true, time.Hour+time.Second)}, -time.Hour - time.Second, "+3601s"},
		"an hour behind":     {[]any{entry(true, -time.Hour), entry(true, -time.Hour)}, time.Hour, "-3600s"},
		"a slow entry":       {[]any{entry(true, -time.Minute), entry(true, 0)}, 0, ""},
		"two slow entries":   {[]any{entry(true, -time.Minute), entry(true, -20*time.Second), entry(true, 0)}, 0, ""},
		"ended, whatever is": {[]any{entry(false, time.Hour)}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			f := &fake{entries: c.entries, events: testLog(5, start)}
			run(t, db, f, true)
			found, events := listed(t, db)
			if !found.Start.Equal(start.Add(c.moved)) || found.Labels["clock"] != c.label || found.Label != "one" || len(events) != 5 {
				t.Errorf("start %v, labels %v, %d events", found.Start, found.Labels, len(events))
			}
		})
	}
}

// TestGoesOn: a reading that breaks off goes on behind the last event, and a list that fails is asked for again.
func TestGoesOn(t *testing.T) {
	t.Parallel()
	db := open(t)
	broken := errors.New("no leader")
	f := &fake{entries: []any{entry(true, 0), broken}, events: testLog(9, time.Now()), upTo: []int{0, 4, 4, 7}, fault: broken}
	f.upTo = f.upTo[1:]
	said := run(t, db, f, true)
	found, events := listed(t, db)
	if !slices.EqualFunc(events, f.events, store.Event.Equal) || found.State != store.Ended {
		t.Errorf("%d events of %d, %s", len(events), len(f.events), found.State)
	}
	if want := []uint64{1, 5, 5, 8}; !slices.Equal(f.reads, want) {
		t.Errorf("read from %v, want %v", f.reads, want)
	}
	failed := slices.ContainsFunc(said, func(a Arrival) bool { return a.ID == "" && errors.Is(a.Err, broken) })
	last := said[len(said)-1]
	if !failed || last.State != store.Ended || last.Err != nil || last.Events != 9 {
		t.Errorf("said %+v", said)
	}
}

// TestLastEntry: an entry that comes while a session is taken for broken off is not forgotten, and neither is a session
// of which no entry comes any more when its reading has failed.
func TestLastEntry(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]error{"broken off": nil, "failed": store.ErrCorrupt} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			f := &fake{entries: []any{entry(true, 0), entry(false, 0)}, events: testLog(5, time.Now()), upTo: []int{3}, fault: fault}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := Run(ctx, db, f, Options{Follow: true, Said: func(a Arrival) {
				if a.State == store.Ended {
					cancel()
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			if found, got := listed(t, db); found.State != store.Ended || !slices.EqualFunc(got, f.events, store.Event.Equal) {
				t.Errorf("%d events, %s", len(got), found.State)
			}
		})
	}
}

// TestAnew: what a pull has left of a session is replaced when the session comes again, and a session that was
// removed stays away.
func TestAnew(t *testing.T) {
	t.Parallel()
	db := open(t)
	events := testLog(9, time.Now())
	if _, err := db.Append(t.Context(), testID, 0, events[:3]); err != nil {
		t.Fatal(err)
	}
	next := func() *fake { return &fake{entries: []any{entry(false, 0)}, events: events} }
	f := next()
	run(t, db, f, false)
	if found, got := listed(t, db); !slices.EqualFunc(got, events, store.Event.Equal) || found.State != store.Ended {
		t.Errorf("%d events of %d, %s", len(got), len(events), found.State)
	}
	f = next()
	if run(t, db, f, false); len(f.reads) > 0 {
		t.Error("a session that is whole was read again")
	}
	if err := db.Delete(t.Context(), testID); err != nil {
		t.Fatal(err)
	}
	f = next()
	f.entries = append(f.entries, entry(false, 0))
	said := run(t, db, f, false)
	if len(said) != 1 || !errors.Is(said[0].Err, store.ErrExists) {
		t.Errorf("of a removed session is said %+v", said)
	}
	if _, err := db.Head(t.Context(), testID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a removed session: %v", err)
	}
	if err := Run(t.Context(), db, &fake{}, Options{Said: func(a Arrival) { t.Error(a) }}); err != nil {
		t.Error(err)
	}
}

// TestFull holds that a stream cannot fill the disk: a folder that has as many bytes as it may have ends the pull, what
// has come of the session is an unbroken beginning, and where there is room again the session comes whole.
func TestFull(t *testing.T) {
	t.Parallel()
	for name, follow := range map[string]bool{"what is there": false, "following": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			events := testLog(100, time.Now())
			for i := range events[1:99] {
				payload := make([]byte, 64<<10)
				_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(payload)
				events[i+1].Payload = payload
			}
			var said []Arrival
			options := Options{Follow: follow, MaxBytes: 2 << 20, Said: func(a Arrival) {
				if a.State != store.Live {
					said = append(said, a)
				}
			}}
			pullOnce := func() error {
				said = nil
				all := entry(false, 0)
				all.Head.Seq = uint64(len(events))
				return Run(t.Context(), db, &fake{entries: []any{all}, events: events}, options)
			}
			for range 2 { // what an earlier pull has left counts, too, but for the session that comes anew
				err := pullOnce()
				if !errors.Is(err, ErrFull) || !strings.HasSuffix(err.Error(), " MB, and may have 2") {
					t.Fatalf("the pull ends with %v", err)
				}
				if len(said) != 1 || said[0].ID != testID || !errors.Is(said[0].Err, ErrFull) {
					t.Errorf("said %+v", said)
				}
				if space, err := db.Space(t.Context()); err != nil || space.Files > 5<<20 {
					t.Errorf("the folder has %d bytes, %v", space.Files, err)
				}
				found, got := listed(t, db)
				if found.State != store.Crashed || len(got) < 2 || len(got) > 33 || !slices.EqualFunc(got, events[:len(got)], store.Event.Equal) {
					t.Errorf("%d events, %s", len(got), found.State)
				}
			}
			options.MaxBytes, options.Follow = 32<<20, false
			if err := pullOnce(); err != nil {
				t.Fatal(err)
			}
			if found, got := listed(t, db); found.State != store.Ended || !slices.EqualFunc(got, events, store.Event.Equal) {
				t.Errorf("%d events, %s", len(got), found.State)
			}
		})
	}
}
