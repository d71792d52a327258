package view

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// manyEvents is how long the session of the benchmarks is.
const manyEvents = 200_000

// manyStored returns a store with a long session: calls with progress, of which some overlap.
func manyStored(b *testing.B) (home session.Home, id string) {
	b.Helper()
	home.Place = b.TempDir()
	db, err := boltstore.Open(home.Place, boltstore.Options{Sync: boltstore.SyncNone})
	if err != nil {
		b.Fatal(err)
	}
	id = "019a0000-0000-7000-8000-00000000000a"
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: store.Header{ID: store.SessionID(id), Transport: "stdio"}.Encode()}}
	put := func(dir transport.Direction, format string, args ...any) {
		seq := uint64(len(events) + 1)
		events = append(events, store.Event{
			Seq: seq, At: time.Duration(seq) * 100 * time.Microsecond, Kind: store.Frame, Dir: dir,
			Payload: fmt.Appendf(nil, format, args...),
		})
	}
	c2s, s2c := transport.ClientToServer, transport.ServerToClient
	for n := 1; len(events) < manyEvents-1; n++ {
		put(c2s, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{"progressToken":%d},`+
			`"name":"search","arguments":{"q":"text %d"}}}`, n, n, n)
		put(s2c, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1,"message":"step"}}`, n)
		if n%2000 > 0 {
			put(s2c, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"a result with some text behind it"}]}}`, n)
		}
	}
	closed := store.EncodePayload(store.ClosedInfo{})
	events = append(events, store.Event{Seq: uint64(len(events) + 1), At: time.Hour, Kind: store.Closed, Payload: closed})
	if _, err := session.Save(b.Context(), db, jsonl.Each(events)); err != nil {
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	return home, id
}

func openMany(b *testing.B, home session.Home, id string) *session.Session {
	b.Helper()
	s, err := session.Open(b.Context(), home, id, strings.NewReader(""), io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkIndex measures the index of a session as a ratio to mcprec check of the same session, in
// turns.
func BenchmarkIndex(b *testing.B) {
	home, id := manyStored(b)
	var indexed, checked time.Duration
	for b.Loop() {
		began := time.Now()
		x, err := openIndex(b.Context(), openMany(b, home, id))
		if err != nil {
			b.Fatal(err)
		}
		<-x.ended
		indexed += time.Since(began)
		if err := x.close(); err != nil || x.err != nil {
			b.Fatal(err, x.err)
		}
		began = time.Now()
		s := openMany(b, home, id)
		fold := check.New(check.Gate{}, func(check.Finding) {})
		if err := timeline.Project(s.Steps(b.Context(), store.ReadOptions{}), fold); err != nil {
			b.Fatal(err)
		}
		fold.Close(0)
		checked += time.Since(began)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(indexed)/float64(checked), "index/check")
	b.ReportMetric(float64(indexed.Nanoseconds())/float64(b.N)/manyEvents, "ns/event")
}

// BenchmarkRows measures a jump to rows in the middle of a long session.
func BenchmarkRows(b *testing.B) {
	home, id := manyStored(b)
	x, err := Listen(b.Context(), "127.0.0.1:0", Options{Sessions: []*session.Session{openMany(b, home, id)}})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	<-x.sessions.named[0].ended
	routes := x.routes()
	for n := 0; b.Loop(); n++ {
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, httptest.NewRequest("GET", fmt.Sprintf("/api/rows?n=256&from=%d", 1+n*7919%(manyEvents-300)), nil))
		var answer rowsAnswer
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Rows) != 256 {
			b.Fatal(err, len(answer.Rows))
		}
	}
}
