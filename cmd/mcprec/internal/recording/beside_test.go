package recording

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/metrics"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/spans"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/store/outbox"
	"github.com/mcprec/mcprec/transport"
)

// nothingLost is a recorder that records all.
type nothingLost struct{}

func (nothingLost) Lost() uint64 { return 0 }
func (nothingLost) Waiting() int { return 0 }

// TestTell: a call without an answer is a span at the end of its session, and none where the session
// could not be read to its end: the answer may stand in what was not read.
func TestTell(t *testing.T) {
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer collector.Close()
	target, err := spans.ParseTarget(collector.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	fault := errors.New("no such chunk")
	for _, end := range []error{nil, fault} {
		o := &observers{}
		o.home.Secrets.Show = true
		o.counts = metrics.NewCollector("mcprec", "", time.Second, nil)
		o.spans = spans.New(target, "0", nil)
		counted := o.counts.Session(nothingLost{})
		err := o.tell(func(yield func(store.Event, error) bool) {
			header := store.Header{ID: "0190aaaa-0000-7000-8000-000000000001", Start: time.Now()}
			_ = yield(store.Event{Seq: 1, Kind: store.Opened, Payload: header.Encode()}, nil) &&
				yield(store.Event{Seq: 2, Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}, nil) &&
				(end == nil || yield(store.Event{}, end))
		}, counted)
		want := spans.Summary{Sent: 2} // the call and the session
		if end != nil {
			want = spans.Summary{}
		}
		if sum := o.spans.Close(time.Minute); err != end || sum != want {
			t.Errorf("ended by %v: %v, %+v", end, err, sum)
		}
		if shot := o.counts.Snapshot(); shot.Events != 2 || shot.Open.C2S != 1 {
			t.Errorf("ended by %v: %+v", end, shot)
		}
	}
}

// TestObserveOutbox: the metrics tell what waits for a shared store, and that nothing does when it
// has all.
func TestObserveOutbox(t *testing.T) {
	local, err := boltstore.Open(t.TempDir(), boltstore.Options{Outbox: true})
	if err != nil {
		t.Fatal(err)
	}
	reachable := make(chan struct{})
	shared := memstore.New()
	box := outbox.New(local, func(ctx context.Context) (outbox.Shared, error) {
		select {
		case <-reachable:
			return shared, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}, outbox.Options{})
	o := &observers{}
	o.counts = metrics.NewCollector("mcprec", "", time.Second, nil)
	o.setStore(&session.Store{Store: box})
	rec, err := recorder.New(t.Context(), box, store.Header{})
	if err != nil {
		t.Fatal(err)
	}
	end := o.follow(rec)
	rec.Record(store.Note, transport.NoDirection, store.NoteInfo{Text: "x"})
	await := func(is func(metrics.Snapshot) bool) {
		t.Helper()
		for {
			shot := o.counts.Snapshot()
			if shot.Outbox == nil {
				t.Fatal("the metrics tell of no outbox")
			}
			if is(shot) {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	await(func(s metrics.Snapshot) bool {
		return s.Outbox.Events == 2 && !s.Outbox.Connected && s.Events == 2 && s.Live == 1
	})
	close(reachable)
	await(func(s metrics.Snapshot) bool {
		return s.Outbox.Acknowledged == 2 && s.Outbox.Events == 0 && s.Outbox.Connected
	})
	rec.Close()
	end()
	await(func(s metrics.Snapshot) bool { return s.Outbox.Acknowledged == 3 && s.Events == 3 && s.Live == 0 })
	if err := box.Close(); err != nil {
		t.Error(err)
	}
}

// unreadable is a store that does not answer a reader until it is over.
type unreadable struct {
	store.Store
	over chan struct{}
}

func (u unreadable) Read(ctx context.Context, _ store.SessionID, _ uint64, _ store.ReadOptions) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		<-u.over
		yield(store.Event{}, ctx.Err())
	}
}

// TestFollowNotRead: a session whose events could not be read in time ends all the same, and
// standard error says so, once.
func TestFollowNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		db := unreadable{memstore.New(), make(chan struct{})}
		o := &observers{db: &session.Store{Store: db}, counts: metrics.NewCollector("mcprec", "", time.Second, nil),
			say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
		rec := recorder.Unrecorded(errors.New("none"))
		o.follow(rec)()
		want := []string{fmt.Sprintf("session %s: it ended before all of it was read for the metrics", rec.ID())}
		if !slices.Equal(said, want) {
			t.Errorf("at its end: said %q, want %q", said, want)
		}
		close(db.over)
		synctest.Wait()
		if !slices.Equal(said, want) {
			t.Errorf("afterwards: said %q, want %q", said, want)
		}
	})
}
