package server

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/objects"
)

// sessionKey and its like name the objects of a session of the noon day.
func sessionKey(id store.SessionID) string { return "v1/2026/11/21/" + string(id) + ".mcprec.zst" }
func summaryKey(id store.SessionID) string { return "v1/2026/11/21/" + string(id) + ".json" }

// cut closes the connection of a request without an answer.
func cut(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// TestPutFaults: whatever happens to the first requests of each kind, the session is put once and whole.
func TestPutFaults(t *testing.T) {
	kinds := map[string]func(w http.ResponseWriter, r *http.Request, real http.Handler){
		"cut in the middle": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
			cut(w)
		},
		"503": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"lost answer": func(w http.ResponseWriter, r *http.Request, real http.Handler) {
			real.ServeHTTP(httptest.NewRecorder(), r)
			cut(w)
		},
	}
	small := session(idAt(noon, 1), noon, 10, 10)
	large := session(idAt(noon, 2), noon, 40, 0)
	for i := range large[1:39] {
		large[i+1].Payload = noise(1<<20, i)
	}
	for name, fault := range kinds {
		for size, events := range map[string][]store.Event{"one request": small, "parts": large} {
			t.Run(name+", "+size, func(t *testing.T) {
				srv, s := open(t, "")
				faults := map[string]bool{}
				srv.answer(func(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
					what := r.Method + " " + keyOf(r) + r.URL.Query().Get("partNumber")
					srv.mu.Lock()
					isFirst := !faults[what] && (r.Method == http.MethodPut || r.Method == http.MethodPost)
					faults[what] = true
					srv.mu.Unlock()
					if isFirst {
						fault(w, r, real)
					}
					return isFirst
				})
				mustAppend(t, s, events)
				if size == "parts" && len(faults) < 6 {
					t.Errorf("faults in %d requests only: %v", len(faults), faults)
				}
				srv.answer(nil)
				mustAppend(t, s, events)
				header, _ := store.ParseHeader(events[0].Payload)
				wantEvents(t, s, header.ID, events)
				if keys := srv.keys(t); len(keys) != 2 {
					t.Errorf("objects %q, want the session and its summary", keys)
				}
			})
		}
	}
}

// noise returns a frame that hardly compresses.
func noise(size, seed int) []byte {
	data := make([]byte, size)
	state := uint64(seed) + 1
	for i := range data {
		state = state*6364136223846793005 + 1442695040888963407
		data[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[state>>58]
	}
	return append(append([]byte(`{"x":"`), data...), `"}`...)
}

// TestPutGivenUp: a put that fails leaves no session, whether before or after parts were sent.
func TestPutGivenUp(t *testing.T) {
	srv, s := open(t, "")
	id := idAt(noon, 1)
	broken := errors.New("broken")
	for _, n := range []int{0, 1, 2, 20, 35, 44} {
		events := func(yield func(store.Event, error) bool) {
			for i, event := range session(id, noon, 45, 0) {
				if i == n {
					yield(store.Event{}, broken)
					return
				}
				if i > 0 && i < 44 {
					event.Payload = noise(1<<20, i)
				}
				if !yield(event, nil) {
					return
				}
			}
		}
		if _, err := s.Put(t.Context(), id, events, nil); !errors.Is(err, broken) {
			t.Fatalf("after %d events: %v", n, err)
		}
	}
	counted := srv.counted()
	if keys := srv.keys(t); len(keys) > 0 || counted["DELETE session"] < 2 {
		t.Errorf("left %q; gave up %d uploads", keys, counted["DELETE session"])
	}
}

// TestDamage: a flipped bit is found by reading to the end, and a cut object as well.
func TestDamage(t *testing.T) {
	srv, s := open(t, "")
	id := idAt(noon, 1)
	events := session(id, noon, 50, 100)
	for i := range events[1:49] {
		events[i+1].Payload = noise(50, i)
	}
	mustAppend(t, s, events)
	whole := srv.get(t, sessionKey(id))
	harmless := 0
	for at := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[at] ^= 1 << (at % 8)
		srv.put(t, sessionKey(id), damaged)
		got, err := readAll(t.Context(), s, id)
		if err == nil && len(got) == len(events) {
			harmless++ // a bit that zstd does not use
			continue
		}
		if !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrNewer) {
			t.Fatalf("bit in byte %d of %d: %d events, %v", at, len(whole), len(got), err)
		}
	}
	if harmless > 1 {
		t.Errorf("%d of %d flipped bits were not found", harmless, len(whole))
	}
	for size := range len(whole) {
		srv.put(t, sessionKey(id), whole[:size])
		if _, err := readAll(t.Context(), s, id); !errors.Is(err, store.ErrCorrupt) {
			t.Fatalf("%d bytes of %d: %v", size, len(whole), err)
		}
	}
	// An object that is sound by itself, but another one.
	other, another := open(t, "")
	events[7].At++
	mustAppend(t, another, events)
	srv.put(t, sessionKey(id), other.get(t, sessionKey(id)))
	if got, err := readAll(t.Context(), s, id); !errors.Is(err, store.ErrCorrupt) || len(got) != len(events) {
		t.Errorf("other events: %d, %v", len(got), err)
	}
}

// TestSummaryMissing: without a readable summary the session itself is listed and read, and the summary can
// be written again.
func TestSummaryMissing(t *testing.T) {
	srv, s := open(t, "")
	id := idAt(noon, 1)
	events := session(id, noon, 9, 9)
	want := mustAppend(t, s, events)
	summary := string(srv.get(t, summaryKey(id)))
	for name, damage := range map[string]func(){
		"missing": func() { srv.remove(t, summaryKey(id)) },
		"cut":     func() { srv.put(t, summaryKey(id), []byte(summary[:len(summary)/2])) },
		"newer":   func() { srv.put(t, summaryKey(id), []byte(strings.Replace(summary, `"mcprec":1`, `"mcprec":9`, 1))) },
	} {
		damage()
		if ids, faults := listed(t, s, store.Query{}); len(ids) != 1 || len(faults) > 0 {
			t.Errorf("%s: listed %v, %v", name, ids, faults)
		}
		if head, err := s.Head(t.Context(), id); err != nil || head != want {
			t.Errorf("%s: head %v, %v", name, head, err)
		}
		wantEvents(t, s, id, events)
		var found []error
		if err := s.Verify(t.Context(), func(err error) { found = append(found, err) }); err != nil || len(found) != 1 {
			t.Errorf("%s: verify: %v, %v", name, found, err)
		}
		if err := s.RestoreSummary(t.Context(), id); err != nil || string(srv.get(t, summaryKey(id))) != summary {
			t.Errorf("%s: restored %s, %v", name, srv.get(t, summaryKey(id)), err)
		}
	}
	srv.remove(t, sessionKey(id))
	ids, faults := listed(t, s, store.Query{})
	if len(ids) != 0 || len(faults) != 1 || !errors.Is(faults[0], store.ErrCorrupt) {
		t.Errorf("without the session: listed %v, %v", ids, faults)
	}
	if _, err := readAll(t.Context(), s, id); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("without the session: read: %v", err)
	}
}

// TestReadCut: a read goes on after a broken connection, as long as the object is the same.
func TestReadCut(t *testing.T) {
	srv, s := open(t, "")
	id := idAt(noon, 1)
	events := session(id, noon, 12, 0)
	for i := range events[1:11] {
		events[i+1].Payload = noise(1<<20, i)
	}
	mustAppend(t, s, events)
	var cuts atomic.Int64
	srv.answer(func(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
		if r.Method != http.MethodGet || !strings.HasSuffix(keyOf(r), ".zst") || cuts.Add(1) > 5 {
			return false
		}
		real.ServeHTTP(&limited{ResponseWriter: w, left: 1 << 20}, r)
		return true
	})
	wantEvents(t, s, id, events)
	if cuts.Load() != 6 {
		t.Errorf("%d requests, want 6", cuts.Load())
	}
	srv.answer(func(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
		if r.Method != http.MethodGet || !strings.HasSuffix(keyOf(r), ".zst") {
			return false
		}
		if r.Header.Get("If-Match") != "" { // the second request: the object is another one by now
			w.WriteHeader(http.StatusPreconditionFailed)
			return true
		}
		real.ServeHTTP(&limited{ResponseWriter: w, left: 1 << 20}, r)
		return true
	})
	got, err := readAll(t.Context(), s, id)
	if err == nil || !strings.Contains(err.Error(), "has changed") || len(got) == len(events) {
		t.Errorf("an object that changed: %d events, %v", len(got), err)
	}
}

// limited breaks the connection after some bytes of the body.
type limited struct {
	http.ResponseWriter
	left int
}

func (l *limited) Write(data []byte) (int, error) {
	if len(data) > l.left {
		_, _ = l.ResponseWriter.Write(data[:l.left])
		_ = http.NewResponseController(l.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	l.left -= len(data)
	return l.ResponseWriter.Write(data)
}

// TestDeleteInterrupted: a session that is half deleted does not come back, and can be deleted again.
func TestDeleteInterrupted(t *testing.T) {
	for refused := range 3 {
		srv, s := open(t, "")
		id := idAt(noon, 1)
		events := session(id, noon, 9, 9)
		mustAppend(t, s, events)
		var steps atomic.Int64
		srv.answer(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			if r.Method == http.MethodGet || r.Method == http.MethodHead || steps.Add(1) <= int64(refused) {
				return false
			}
			w.WriteHeader(http.StatusForbidden)
			return true
		})
		if err := s.Delete(t.Context(), id); err == nil || !strings.Contains(err.Error(), "denied") {
			t.Fatalf("delete, refused after %d steps: %v", refused, err)
		}
		srv.answer(nil)
		if _, err := s.Append(t.Context(), id, 0, events); refused > 0 && !errors.Is(err, store.ErrExists) {
			t.Errorf("put after %d steps: %v", refused, err)
		}
		if ids, faults := listed(t, s, store.Query{}); len(faults) > 0 || len(ids) != 1 && refused < 2 || len(ids) != 0 && refused == 2 {
			t.Errorf("after %d steps: listed %v, %v", refused, ids, faults)
		}
		if err := s.Delete(t.Context(), id); err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("delete again after %d steps: %v", refused, err)
		}
		if keys := srv.keys(t); len(keys) != 1 || !strings.HasPrefix(keys[0], "v1/ids/") {
			t.Errorf("after %d steps: left %q, want the mark", refused, keys)
		}
	}
}

// TestDeletedMeanwhile: a put during which the session is deleted does not bring it back.
func TestDeletedMeanwhile(t *testing.T) {
	srv, s := open(t, "")
	id := idAt(noon, 1)
	srv.answer(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if r.Method == http.MethodPut && strings.HasSuffix(keyOf(r), ".zst") {
			srv.put(t, "v1/ids/"+string(id)+".json", []byte(`{"mcprec":1,"day":"2026/11/21","deleted":true}`))
		}
		return false
	})
	if _, err := s.Append(t.Context(), id, 0, session(id, noon, 9, 9)); !errors.Is(err, store.ErrExists) {
		t.Errorf("put: %v", err)
	}
	if keys := srv.keys(t); len(keys) != 1 {
		t.Errorf("left %q", keys)
	}
}

// TestOpenFaults: what is wrong with the bucket is said in plain words.
func TestOpenFaults(t *testing.T) {
	environment(t)
	fails := func(name, want string, options objects.Options) {
		t.Helper()
		s, err := objects.Open(t.Context(), options)
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	plain := start(t)
	plain.Start()
	fails("no bucket", "create the bucket", objects.Options{Bucket: "other", Endpoint: plain.URL})
	fails("no TLS", "does not speak TLS", objects.Options{Bucket: bucket, Endpoint: strings.Replace(plain.URL, "http:", "https:", 1)})
	denied := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	refusing := httptest.NewServer(denied)
	defer refusing.Close()
	fails("denied", "s3:ListBucket", objects.Options{Bucket: bucket, Endpoint: refusing.URL})
	clock := start(t, gofakes3.WithTimeSkewLimit(time.Minute), gofakes3.WithTimeSource(gofakes3.FixedTimeSource(noon)))
	clock.Start()
	fails("clock", "set the clock", objects.Options{Bucket: bucket, Endpoint: clock.URL})
	secure := start(t)
	var connections atomic.Int64
	secure.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	secure.StartTLS()
	fails("certificate", "SSL_CERT_FILE", objects.Options{Bucket: bucket, Endpoint: secure.URL})
	if n := connections.Load(); n != 1 {
		t.Errorf("a refused certificate was tried %d times", n)
	}
	authority := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(authority, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", authority)
	mustAppend(t, opened(t, secure, ""), session(idAt(noon, 1), noon, 3, 3))
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	fails("no credentials", "AWS_ACCESS_KEY_ID", objects.Options{Bucket: bucket, Endpoint: refusing.URL})
	plain.Close()
	fails("nobody", "cannot be reached", objects.Options{Bucket: bucket, Endpoint: plain.URL})
}

// TestNewestOfMany: of 5,000 sessions in 10,000 objects, the newest 100 are listed with as many reads of
// summaries, and all with one each.
func TestNewestOfMany(t *testing.T) {
	srv, s := open(t, "")
	const n = 5000
	first := idAt(noon, 0)
	mustAppend(t, s, session(first, noon, 3, 3))
	text := string(srv.get(t, summaryKey(first)))
	for i := 1; i < n; i++ {
		// Four thousand on one day, 5 seconds apart, the others on the days before.
		at := noon.Add(time.Duration(i) * 5 * time.Second)
		if i >= 4000 {
			at = noon.AddDate(0, 0, -1-i%40)
		}
		id := idAt(at, i)
		day := fmt.Sprintf("v1/%s/%s", at.Format("2006/01/02"), id)
		summary := strings.ReplaceAll(text, string(first), string(id))
		srv.put(t, day+".json", []byte(strings.Replace(summary, noon.Format(time.RFC3339), at.Format(time.RFC3339), 1)))
		srv.put(t, day+".mcprec.zst", []byte("unread"))
	}
	srv.counted()
	ids, faults := listed(t, s, store.Query{Newest: true, Limit: 100})
	if len(faults) > 0 || len(ids) != 100 || ids[0] != idAt(noon.Add(3999*5*time.Second), 3999) || ids[99] != idAt(noon.Add(3900*5*time.Second), 3900) {
		t.Errorf("newest 100: %d from %v to %v, %v", len(ids), ids[0], ids[len(ids)-1], faults)
	}
	counted := srv.counted()
	t.Logf("newest 100 of %d: %v", n, counted)
	if counted["GET summary"] != 100 || counted["GET session"] > 0 || counted["GET mark"] > 0 || counted["GET list"] > 12 {
		t.Errorf("newest 100: %v", counted)
	}
	ids, faults = listed(t, s, store.Query{Prefix: string(idAt(noon, 4999)[:4]), Newest: true, Limit: 7})
	if len(ids) != 7 || len(faults) > 0 {
		t.Errorf("with a prefix: %v, %v", ids, faults)
	}
	srv.counted()
	ids, faults = listed(t, s, store.Query{Prefix: string(ids[3])})
	if counted := srv.counted(); len(ids) != 1 || len(faults) > 0 || counted["GET summary"] != 1 || counted["GET list"] > 2 {
		t.Errorf("one by its id: %v, %v, %v", ids, faults, counted)
	}
	ids, faults = listed(t, s, store.Query{})
	counted = srv.counted()
	t.Logf("all of %d: %v", n, counted)
	if len(ids) != n || len(faults) > 0 || counted["GET summary"] != n || counted["GET session"] > 0 {
		t.Errorf("all: %d, %d faults, %v", len(ids), len(faults), counted)
	}
}

// TestPutRace: of two sessions with one id, put at the same time, the later one is refused, also in parts.
func TestPutRace(t *testing.T) {
	id := idAt(noon, 1)
	first := session(id, noon, 9, 9)
	other, another := open(t, "")
	mustAppend(t, another, first)
	for size, n := range map[string]int{"one request": 5, "parts": 30} {
		srv, s := open(t, "")
		second := session(id, noon, n, 0)
		for i := range second[1 : n-1] {
			second[i+1].Payload = noise(1<<20, i)
		}
		var once atomic.Bool
		srv.answer(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			ends := r.Method == http.MethodPut && n == 5 || r.Method == http.MethodPost && r.URL.Query().Has("uploadId")
			if ends && strings.HasSuffix(keyOf(r), ".zst") && once.CompareAndSwap(false, true) {
				srv.put(t, sessionKey(id), other.get(t, sessionKey(id)))
			}
			return false
		})
		var conflict *store.ConflictError
		if _, err := s.Append(t.Context(), id, 0, second); !errors.As(err, &conflict) || conflict.Head.Seq != 9 {
			t.Errorf("%s: %v, want a conflict", size, err)
		}
		wantEvents(t, s, id, first)
	}
}
