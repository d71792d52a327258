package recording

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/metrics"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/spans"
	"github.com/mcprec/mcprec/store"
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
		r := &recording{}
		r.Home.Secrets.Show = true
		r.counts = metrics.NewCollector("mcprec", "", time.Second)
		r.spans = spans.New(target, "0", nil)
		counted := r.counts.Session(nothingLost{})
		err := r.tell(func(yield func(store.Event, error) bool) {
			header := store.Header{ID: "0190aaaa-0000-7000-8000-000000000001", Start: time.Now()}
			_ = yield(store.Event{Seq: 1, Kind: store.Opened, Payload: header.Encode()}, nil) &&
				yield(store.Event{Seq: 2, Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}, nil) &&
				(end == nil || yield(store.Event{}, end))
		}, counted)
		want := spans.Summary{Sent: 2} // the call and the session
		if end != nil {
			want = spans.Summary{}
		}
		if sum := r.spans.Close(time.Minute); err != end || sum != want {
			t.Errorf("ended by %v: %v, %+v", end, err, sum)
		}
		if shot := r.counts.Snapshot(); shot.Events != 2 || shot.Open.C2S != 1 {
			t.Errorf("ended by %v: %+v", end, shot)
		}
	}
}
