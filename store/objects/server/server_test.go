// Package server tests package store/objects against a server of S3 in the same process. It is a module
// of its own, because the server is for tests only.
package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/objects"
	"github.com/mcprec/mcprec/store/storetest"
)

// bucket is the name of the bucket in each server.
const bucket = "sessions"

// server is a server with one bucket, and with faults on demand.
type server struct {
	*httptest.Server
	data *s3mem.Backend

	// fault may answer a request instead of the server; it returns true if it has.
	fault atomic.Pointer[func(w http.ResponseWriter, r *http.Request, real http.Handler) bool]

	mu       sync.Mutex
	requests map[string]int // by method and kind of object
	largest  int64          // body of a request
}

// start starts a server, and sets the environment for its credentials.
func start(t testing.TB, options ...gofakes3.Option) *server {
	t.Helper()
	s := &server{data: s3mem.New(), requests: map[string]int{}}
	if err := s.data.CreateBucket(bucket); err != nil {
		t.Fatal(err)
	}
	quiet := gofakes3.WithLogger(gofakes3.StdLog(log.New(io.Discard, "", 0)))
	s.Server = httptest.NewUnstartedServer(s.conditional(gofakes3.New(s.data, append(options, quiet)...).Server()))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(s.Server.Close)
	return s
}

// conditional counts requests, injects faults, and completes an upload in parts only if its condition
// holds, which gofakes3 does not look at.
func (s *server) conditional(real http.Handler) http.Handler {
	var complete sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.count(r)
		if fault := s.fault.Load(); fault != nil && (*fault)(w, r, real) {
			return
		}
		if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") && r.Header.Get("If-None-Match") == "*" {
			complete.Lock()
			defer complete.Unlock()
			if _, err := s.data.HeadObject(bucket, keyOf(r)); err == nil {
				http.Error(w, "", http.StatusPreconditionFailed)
				return
			}
		}
		real.ServeHTTP(w, r)
	})
}

func (s *server) count(r *http.Request) {
	kind := "list"
	switch key := keyOf(r); {
	case strings.HasSuffix(key, ".mcprec.zst"):
		kind = "session"
	case strings.Contains(key, "/ids/"):
		kind = "mark"
	case strings.HasSuffix(key, ".json"):
		kind = "summary"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[r.Method+" "+kind]++
	s.largest = max(s.largest, r.ContentLength)
}

// counted returns the requests since the last call.
func (s *server) counted() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counted := s.requests
	s.requests = map[string]int{}
	return counted
}

// keyOf returns the key of a request.
func keyOf(r *http.Request) string {
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return key
}

// put changes an object behind the store's back.
func (s *server) put(t testing.TB, key string, data []byte) {
	t.Helper()
	meta := map[string]string{"Last-Modified": noon.Format(http.TimeFormat)}
	if _, err := s.data.PutObject(bucket, key, meta, bytes.NewReader(data), int64(len(data)), nil); err != nil {
		t.Fatal(err)
	}
}

// get returns an object.
func (s *server) get(t testing.TB, key string) []byte {
	t.Helper()
	object, err := s.data.GetObject(bucket, key, nil)
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	defer object.Contents.Close()
	data, err := io.ReadAll(object.Contents)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (s *server) remove(t testing.TB, key string) {
	t.Helper()
	if _, err := s.data.DeleteObject(bucket, key); err != nil {
		t.Fatal(err)
	}
}

// keys returns the keys of the bucket.
func (s *server) keys(t testing.TB) (keys []string) {
	t.Helper()
	listed, err := s.data.ListBucket(bucket, &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range listed.Contents {
		keys = append(keys, object.Key)
	}
	return keys
}

// answer sets the fault.
func (s *server) answer(fault func(w http.ResponseWriter, r *http.Request, real http.Handler) bool) {
	if fault == nil {
		s.fault.Store(nil)
		return
	}
	s.fault.Store(&fault)
}

// environment gives credentials, and hides those of the user.
func environment(t testing.TB) {
	t.Helper()
	none := t.TempDir()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "",
		"HOME": none, "AWS_SHARED_CREDENTIALS_FILE": none + "/none", "AWS_SESSION_TOKEN": "",
	} {
		t.Setenv(name, value)
	}
}

// open starts a server without TLS, and opens its bucket.
func open(t testing.TB, prefix string) (*server, *objects.Store) {
	t.Helper()
	environment(t)
	srv := start(t)
	srv.Start()
	return srv, opened(t, srv, prefix)
}

// opened opens the bucket of a running server.
func opened(t testing.TB, srv *server, prefix string) *objects.Store {
	t.Helper()
	s, err := objects.Open(t.Context(), objects.Options{Bucket: bucket, Prefix: prefix, Endpoint: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	srv.counted()
	return s
}

func TestConformance(t *testing.T) {
	for _, prefix := range []string{"", "team/a b"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			storetest.Test(t, func(t *testing.T) store.Store {
				_, s := open(t, prefix)
				return s
			}, storetest.Sealed())
		})
	}
}

// session returns a sealed session with n events that began at a time; each frame has size bytes at least.
func session(id store.SessionID, start time.Time, n, size int) []store.Event {
	h := store.Header{ID: id, Start: start, Transport: "stdio", Label: "server", Command: []string{"server"}}
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: h.Encode()}}
	for seq := uint64(2); seq < uint64(n); seq++ {
		payload := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"x":"%s"}}`, seq, strings.Repeat("x", size))
		events = append(events, store.Event{Seq: seq, At: time.Duration(seq), Kind: store.Frame, Dir: 1, Payload: payload})
	}
	return append(events, store.Event{Seq: uint64(n), At: time.Duration(n), Kind: store.Closed, Payload: store.EncodePayload(store.ClosedInfo{})})
}

// noon is the day of most sessions of the tests.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// idAt returns a version 7 id of a time.
func idAt(at time.Time, n int) store.SessionID {
	ms := at.UnixMilli()
	return store.SessionID(fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, n))
}

func mustAppend(t testing.TB, s store.Store, events []store.Event) store.Head {
	t.Helper()
	h, err := store.ParseHeader(events[0].Payload)
	if err != nil {
		t.Fatal(err)
	}
	head, err := s.Append(t.Context(), h.ID, 0, events)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

func readAll(ctx context.Context, s store.Store, id store.SessionID) (events []store.Event, err error) {
	for event, err := range s.Read(ctx, id, 0, store.ReadOptions{}) {
		if err != nil {
			return events, err
		}
		events = append(events, event)
	}
	return events, nil
}

func wantEvents(t testing.TB, s store.Store, id store.SessionID, want []store.Event) {
	t.Helper()
	got, err := readAll(t.Context(), s, id)
	if err != nil || len(got) != len(want) {
		t.Fatalf("read %d events of %d: %v", len(got), len(want), err)
	}
	for i := range want {
		if !got[i].Equal(want[i]) {
			t.Fatalf("event %d differs", i+1)
		}
	}
}

// listed returns the ids of a listing, and its errors.
func listed(t testing.TB, s store.Store, query store.Query) (ids []store.SessionID, faults []error) {
	t.Helper()
	for x, err := range s.Sessions(t.Context(), query) {
		if err != nil {
			faults = append(faults, err)
			continue
		}
		ids = append(ids, x.ID)
	}
	return ids, faults
}
