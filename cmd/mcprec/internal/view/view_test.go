package view

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// openFixture opens a session of a file.
func openFixture(t *testing.T, path string) *session.Session {
	t.Helper()
	s, err := session.Open(t.Context(), session.Home{Place: t.TempDir()}, path, strings.NewReader(""), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve returns a server of sessions whose indexing has ended.
func serve(t *testing.T, options Options) *Server {
	t.Helper()
	x, err := Listen(t.Context(), "127.0.0.1:0", options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// ask makes a request of the page, past the guard.
func ask(t *testing.T, x *Server, path string) (status int, body []byte) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/"+path, nil)
	w := httptest.NewRecorder()
	x.routes().ServeHTTP(w, r)
	return w.Code, w.Body.Bytes()
}

// golden compares a text with a file, or rewrites the file with -update.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s differs; go test -update rewrites it:\n%s", path, text)
	}
}

// TestAnswers holds the answer of every path about the bundled session to a golden.
func TestAnswers(t *testing.T) {
	x := serve(t, Options{Sessions: []*session.Session{openFixture(t, "../../../../fixtures/seed.jsonl")}})
	<-x.sessions.named[0].ended
	var text strings.Builder
	for _, path := range []string{
		"session", "session?s=1", "session?id=01a1fee3", "rows", "rows?from=5&n=2", "rows?from=13", "rows?n=many", "overview?n=4", "waterfall?n=4", "between?from=8000000&to=9500000", "fits",
		"state?at=6", "state?at=99", "frame?seq=5", "frame?seq=5&from=140", "frame?seq=99", "findings", "why",
		"find?filter=tool:count", "find?filter=no:such",
		"diagram?from=5&to=8&format=text", "diagram?from=5&to=8&format=mermaid&filter=kind:request|response", "diagram?format=no-such", "run?client=notification-queue=0", "run?client=no-such", "diff", "sessions", "no-such",
	} {
		status, body := ask(t, x, path)
		if strings.HasPrefix(path, "find?filter=tool") {
			body = fmt.Appendf(nil, "%v", body)
		}
		var spread bytes.Buffer
		if json.Indent(&spread, body, "", " ") == nil && strings.HasPrefix(path, "run?") {
			body = spread.Bytes()
		}
		fmt.Fprintf(&text, "-- %s: %d --\n%s\n", path, status, bytes.TrimSpace(body))
	}
	golden(t, "answers.txt", text.String())
}

// TestGuard is the table of who may ask.
func TestGuard(t *testing.T) {
	const host = "127.0.0.1:4000"
	passed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/ROOM") { // the routes do not know it
			w.WriteHeader(http.StatusTeapot)
		}
	})
	const cookie = "mcprec-view=SECRET"
	linked := func(site, mode, destination string) map[string]string {
		return map[string]string{"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": destination}
	}
	for _, row := range []struct {
		what, method, path string
		header             map[string]string
		used               bool // the key
		want               int
	}{
		{"the printed address", "GET", "/ROOM/?key=KEY", nil, false, 200},
		{"the printed address of a listed session", "GET", "/ROOM/?session=abc&key=KEY", nil, false, 200},
		{"a second browser", "GET", "/ROOM/?key=KEY", nil, true, 403},
		{"the same browser again", "GET", "/ROOM/?key=KEY", map[string]string{"Cookie": cookie}, true, 200},
		{"the key of an earlier start", "GET", "/ROOM/?key=OLD", map[string]string{"Cookie": cookie}, true, 200},
		{"a look without opening", "HEAD", "/ROOM/?key=KEY", nil, false, 403},
		{"a wrong key", "GET", "/ROOM/?key=KEYS", nil, false, 403},
		{"an empty key", "GET", "/ROOM/?key=", nil, false, 403},
		{"the key elsewhere", "GET", "/ROOM/api/rows?key=KEY", nil, false, 403},
		{"no key", "GET", "/", nil, false, 403},
		{"the cookie", "GET", "/ROOM/api/rows", map[string]string{"Cookie": cookie}, true, 418},
		{"a wrong cookie", "GET", "/ROOM/api/rows", map[string]string{"Cookie": "mcprec-view=SECRE"}, true, 403},
		{"the key as the cookie", "GET", "/ROOM/api/rows", map[string]string{"Cookie": "mcprec-view=KEY"}, true, 403},
		{"the cookie under another path", "GET", "/api/rows", map[string]string{"Cookie": cookie}, true, 403},
		{"the cookie under a path that begins like it", "GET", "/ROOMS/api/rows", map[string]string{"Cookie": cookie}, true, 403},
		{"the cookie at the root", "GET", "/", map[string]string{"Cookie": cookie}, true, 403},
		{"the path without the cookie", "GET", "/ROOM/api/rows", nil, true, 403},
		{"the key at the root", "GET", "/?key=KEY", nil, false, 403},
		{"a name bound to this address", "GET", "/ROOM/?key=KEY", map[string]string{"Host": "evil.example:4000"}, false, 421},
		{"localhost", "GET", "/ROOM/api/rows", map[string]string{"Host": "localhost:4000", "Cookie": cookie}, true, 421},
		{"another port", "GET", "/ROOM/api/rows", map[string]string{"Host": "127.0.0.1:4001", "Cookie": cookie}, true, 421},
		{"the page", "GET", "/ROOM/api/rows", map[string]string{"Sec-Fetch-Site": "same-origin", "Cookie": cookie}, true, 418},
		{"the address bar", "GET", "/ROOM/", map[string]string{"Sec-Fetch-Site": "none", "Cookie": cookie}, true, 418},
		{"another site", "GET", "/ROOM/api/rows", map[string]string{"Sec-Fetch-Site": "cross-site", "Cookie": cookie}, true, 403},
		{"another port of this host", "GET", "/ROOM/", map[string]string{"Sec-Fetch-Site": "same-site", "Cookie": cookie}, true, 403},
		{"the file of --open", "GET", "/ROOM/?key=KEY", linked("cross-site", "navigate", "document"), false, 200},
		{"the file of --open, a second time", "GET", "/ROOM/?key=KEY", linked("cross-site", "navigate", "document"), true, 403},
		{"a link to the page on another site", "GET", "/ROOM/", linked("cross-site", "navigate", "document"), true, 403},
		{"a message with the key on another site", "GET", "/ROOM/?key=KEY", linked("cross-site", "navigate", "iframe"), false, 403},
		{"an image with the key on another port", "GET", "/ROOM/?key=KEY", linked("same-site", "no-cors", "image"), false, 403},
		{"a POST of the page", "POST", "/ROOM/api/explore", map[string]string{"Origin": "http://" + host, "Cookie": cookie}, true, 418},
		{"a POST without origin", "POST", "/ROOM/api/explore", map[string]string{"Cookie": cookie}, true, 403},
		{"a POST of another origin", "POST", "/ROOM/api/explore", map[string]string{"Origin": "http://evil.example", "Cookie": cookie}, true, 403},
		{"a POST of no origin", "POST", "/ROOM/api/explore", map[string]string{"Origin": "null", "Cookie": cookie}, true, 403},
	} {
		x := &guard{host: host, path: "/ROOM/", key: "KEY", secret: "SECRET", next: passed}
		x.used.Store(row.used)
		r := httptest.NewRequestWithContext(t.Context(), row.method, row.path, nil)
		r.Host = host
		for name, value := range row.header {
			if r.Header.Set(name, value); name == "Host" {
				r.Host = value
			}
		}
		w := httptest.NewRecorder()
		x.ServeHTTP(w, r)
		if w.Code != row.want || strings.Contains(w.Body.String(), leading) != (row.want == 200) {
			t.Errorf("%s: %d %s, want %d", row.what, w.Code, w.Body, row.want)
		}
		rules := policy
		if row.want == 200 {
			rules = leadingPolicy
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": rules, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s: %q", row.what, name, got)
			}
		}
		wanted := ""
		if row.want == 200 && !row.used {
			wanted = cookie + "; Path=/ROOM/; HttpOnly; SameSite=Strict"
		}
		if set := w.Header().Get("Set-Cookie"); set != wanted {
			t.Errorf("%s: sets the cookie %q", row.what, set)
		}
		if isUsed := row.used || wanted != ""; x.used.Load() != isUsed {
			t.Errorf("%s: the key is used: %t, want %t", row.what, x.used.Load(), isUsed)
		}
		says := strings.Contains(w.Body.String(), "This address was used already")
		if says != (row.used && row.want == 403 && strings.HasSuffix(row.path, "?key=KEY")) {
			t.Errorf("%s: %s", row.what, w.Body)
		}
	}
}

// TestListenOnlyHere: the page is not for other machines.
func TestListenOnlyHere(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "[::]:0", "example.org:0", "127.0.0.1"} {
		x, err := Listen(t.Context(), address, Options{})
		if err == nil {
			t.Errorf("%s: listens at %v", address, x.URL())
			_ = x.Close()
		}
	}
}

// TestLive: a session that is being recorded grows on the page, and ends.
func TestLive(t *testing.T) {
	home := session.Home{Place: t.TempDir()}
	db, err := boltstore.Open(home.Place, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const id = "019a0000-0000-7000-8000-00000000000a"
	header := store.Header{ID: id, Start: time.Now().Add(-time.Hour), Transport: "stdio"}
	spool, err := db.Spool(t.Context(), store.Event{Seq: 1, Kind: store.Opened, Payload: header.Encode()})
	if err != nil {
		t.Fatal(err)
	}
	seq := uint64(1)
	write := func(kind store.Kind, dir transport.Direction, payload string) {
		t.Helper()
		seq++
		e := store.Event{Seq: seq, At: time.Duration(seq), Kind: kind, Dir: dir, Payload: []byte(payload)}
		if err := spool.Write([]store.Part{{Event: e}}); err != nil {
			t.Fatal(err)
		}
	}
	write(store.Frame, transport.ClientToServer, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	s, err := session.Open(t.Context(), home, id, strings.NewReader(""), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	x := serve(t, Options{Sessions: []*session.Session{s}})
	server := httptest.NewServer(x.routes())
	defer server.Close()
	answer, err := server.Client().Get(server.URL + "/api/live")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	// await reads events until a head has so many indexed events.
	await := func(indexed uint64) (head sessionAnswer) {
		t.Helper()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				if json.Unmarshal([]byte(data), &head) == nil && head.Indexed >= indexed {
					return head
				}
			}
		}
	}
	if head := await(2); head.State != store.Live || head.Done {
		t.Errorf("%+v", head)
	}
	if waited := replayedWait(t, x); waited < time.Hour {
		t.Errorf("in the replay of a session that goes on, the open call waited %v, want until now", waited)
	}
	write(store.Frame, transport.ServerToClient, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	await(3)
	status, body := ask(t, x, "rows?from=3")
	if !strings.Contains(string(body), `"label":"result of #2 ping`) || status != http.StatusOK {
		t.Errorf("rows: %d %s", status, body)
	}
	write(store.Closed, 0, `{"frames":2,"lost":0}`)
	if err := spool.Close(); err != nil {
		t.Fatal(err)
	}
	for head := await(4); !head.Done; {
		head = await(4)
	}
	rest, err := io.ReadAll(lines)
	if err != nil || !strings.Contains(string(rest), "event: end") {
		t.Errorf("%s, %v", rest, err)
	}
}

// replayedWait returns how long the one open call of the session has waited, as its replay says.
func replayedWait(t *testing.T, x *Server) time.Duration {
	t.Helper()
	_, body := ask(t, x, "run")
	var run struct {
		Verdict struct{ Unanswered []struct{ Waited string } }
	}
	if err := json.Unmarshal(body, &run); err != nil || len(run.Verdict.Unanswered) != 1 {
		t.Fatalf("%v in %s", err, body)
	}
	waited, err := time.ParseDuration(run.Verdict.Unanswered[0].Waited)
	if err != nil {
		t.Fatal(err)
	}
	return waited
}

// TestStateAhead: of two requests for a state that the index has not come to one waits, and the
// other one is told how far the index is.
func TestStateAhead(t *testing.T) {
	opened, err := openSource(t.Context(), openFixture(t, "../../../../fixtures/seed.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	i := newIndex(opened)
	grow := func(from, to int) {
		for _, e := range opened.events[from:to] {
			var parsed session.Parsed
			parsed.Parse(&e)
			if err := i.apply(e, &parsed); err != nil {
				t.Error(err)
			}
		}
		i.growth.tell()
	}
	grow(0, 5)
	answers := make(chan string)
	for range 2 {
		go func() {
			answer, err := i.answerState(httptest.NewRequest(http.MethodGet, "/api/state?at=8", nil))
			answers <- fmt.Sprint(answer, err)
		}()
	}
	if first := <-answers; !strings.Contains(first, "read up to #5") {
		t.Errorf("one is told %s", first)
	}
	grow(5, 12)
	if second := <-answers; !strings.Contains(second, "c2s, 4 s2c") {
		t.Errorf("the other gets %s", second)
	}
	if err := opened.session.Close(); err != nil {
		t.Error(err)
	}
}

// TestRowsAhead: rows that the index has not come to are as they are later: near the start with their
// calls, and further on.
func TestRowsAhead(t *testing.T) {
	const events = nearStart + 2*reach
	path := filepath.Join(t.TempDir(), "long.jsonl")
	text := `{"mcprec":1,"transport":"stdio"}` + "\n"
	for n := 1; n < events/2; n++ { // event 2n is a call, and 2n+1 its answer
		text += fmt.Sprintf(`{"dir":"c2s","frame":{"jsonrpc":"2.0","id":%d,"method":"ping"}}`+"\n", n) +
			fmt.Sprintf(`{"dir":"s2c","frame":{"jsonrpc":"2.0","id":%d,"result":{}}}`+"\n", n)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	opened, err := openSource(t.Context(), openFixture(t, path))
	if err != nil {
		t.Fatal(err)
	}
	i := newIndex(opened)
	places := []uint64{1, reach, nearStart - 99, nearStart + 101, events - 99} // the later ones begin at answers
	var ahead []rowsAnswer
	for _, from := range places {
		answer, err := i.rows(t.Context(), from, 50)
		if err != nil || answer.Indexed != 0 {
			t.Fatal(answer.Indexed, err)
		}
		ahead = append(ahead, answer)
	}
	for _, e := range opened.events {
		var parsed session.Parsed
		parsed.Parse(&e)
		if err := i.apply(e, &parsed); err != nil {
			t.Fatal(err)
		}
	}
	for n, from := range places {
		later, err := i.rows(t.Context(), from, 50)
		if err != nil || len(later.Rows) != 50 || later.Rows[0].Seq != from {
			t.Fatal(from, len(later.Rows), err)
		}
		if got, want := fmt.Sprint(ahead[n].Rows), fmt.Sprint(later.Rows); got != want {
			t.Errorf("rows from #%d ahead of the index:\n%s\nlater:\n%s", from, got, want)
		}
		if got, want := len(ahead[n].Calls), len(later.Calls); from < nearStart && got != want {
			t.Errorf("%d calls from #%d ahead of the index, later %d", got, from, want)
		}
	}
	if err := opened.session.Close(); err != nil {
		t.Error(err)
	}
}

// TestExplore: an exploration sends a report with the failing schedule beside one that passes; one
// that makes no sense is refused.
func TestExplore(t *testing.T) {
	x := serve(t, Options{Sessions: []*session.Session{openFixture(t, "../../../../fixtures/seed.jsonl")}})
	post := func(body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/explore", strings.NewReader(body))
		w := httptest.NewRecorder()
		x.routes().ServeHTTP(w, r)
		return w
	}
	for _, bad := range []string{
		"", "[]", `{"client":"no-such"}`, `{"vary":"L7"}`, `{"unknown":1}`, `{"vary":"sending","client":"single-threaded"}`, `{"token":"x"}`,
	} {
		if w := post(bad); !strings.Contains(w.Body.String(), `"error":`) {
			t.Errorf("%s: %d %s", bad, w.Code, w.Body)
		}
	}
	w := post(`{"client":"notification-queue=1"}`)
	_, text, ok := strings.Cut(w.Body.String(), "event: report\nid: 0\ndata: ")
	var report struct {
		Report           struct{ Verdict string }
		Failing, Passing struct {
			Steps    []json.RawMessage
			Messages map[string]struct {
				Seq   uint64
				Label string
			}
		}
		Apart int
	}
	if err := json.Unmarshal([]byte(strings.TrimSpace(text)), &report); err != nil || !ok {
		t.Fatalf("%v in %s", err, w.Body)
	}
	if report.Report.Verdict != "hang" || len(report.Failing.Steps) == 0 ||
		report.Failing.Messages["c2s.3"].Label != `tools/call "count" (id 2)` {
		t.Errorf("%+v", report)
	}
}

// TestList: a session of a list opens by its id, and of many that were opened few stay open.
func TestList(t *testing.T) {
	l := &fixtureList{t: t}
	x := serve(t, Options{List: l})
	if status, body := ask(t, x, "session"); status != 200 || !strings.Contains(string(body), `"mode":"list"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := ask(t, x, "rows"); status != 404 {
		t.Errorf("rows of no session: %d", status)
	}
	for n := range 3 * keptOpen {
		id := fmt.Sprint("id", n)
		if status, body := ask(t, x, "rows?id="+id); status != 200 || !strings.Contains(string(body), `"seq":12`) {
			t.Errorf("%s: %d %s", id, status, body)
		}
	}
	if len(x.sessions.listed) > keptOpen || l.opened != 3*keptOpen {
		t.Errorf("%d are open of %d", len(x.sessions.listed), l.opened)
	}
	for range 2 {
		if status, _ := ask(t, x, "rows?id=none"); status != 404 {
			t.Errorf("no such session: %d", status)
		}
	}
}

// TestListSlow: while a session is being opened, another one answers, and a second request for the
// first waits until it is open.
func TestListSlow(t *testing.T) {
	l := &fixtureList{t: t, slow: make(chan struct{})}
	x := serve(t, Options{List: l})
	statuses := make(chan int)
	for range 2 {
		go func() {
			w := httptest.NewRecorder()
			x.routes().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/rows?id=slow", nil))
			statuses <- w.Code
		}()
	}
	<-l.slow // one of the two opens it
	if status, _ := ask(t, x, "rows?id=other"); status != 200 {
		t.Errorf("another session: %d", status)
	}
	l.slow <- struct{}{}
	for range 2 {
		if status := <-statuses; status != 200 {
			t.Errorf("the slow session: %d", status)
		}
	}
	if l.opened != 2 {
		t.Errorf("opened %d times, want once for each of two sessions", l.opened)
	}
}

// fixtureList is a list whose sessions are all the bundled one.
type fixtureList struct {
	t      *testing.T
	opened int
	slow   chan struct{} // the session slow sends here when it is asked for, and receives before it opens
}

func (l *fixtureList) Sessions(context.Context, string) ([]Listed, error) { return nil, nil }

func (l *fixtureList) Open(_ context.Context, id string) (*session.Session, error) {
	if id == "none" {
		return nil, store.ErrNotFound
	}
	if id == "slow" {
		l.slow <- struct{}{}
		<-l.slow
	}
	l.opened++
	s := openFixture(l.t, "../../../../fixtures/seed.jsonl")
	s.ID = store.SessionID(id)
	return s, nil
}

// TestSpreadSecret: a secret that stands in many lines of standard error is masked in each, wherever
// the page begins to read.
func TestSpreadSecret(t *testing.T) {
	home := session.Home{Place: t.TempDir()}
	db, err := boltstore.Open(home.Place, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const id = "019a0000-0000-7000-8000-00000000000a"
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: store.Header{ID: id, Transport: "stdio"}.Encode()}}
	say := func(line string) {
		events = append(events, store.Event{
			Seq: uint64(len(events) + 1), Kind: store.Stderr, Dir: transport.ServerToClient, Payload: []byte(line),
		})
	}
	say("-----BEGIN PRIVATE KEY-----")
	for n := range 120 { // more than 4 kB
		say(fmt.Sprintf("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us%02d", n%100))
	}
	say("-----END PRIVATE KEY-----")
	last := uint64(len(events))
	if _, err := session.Save(t.Context(), db, jsonl.Each(events)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(t.Context(), home, id, strings.NewReader(""), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	unindexed, err := openSource(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range unindexed.read(t.Context(), last/2) {
		if err != nil || e.Kind == store.Stderr && strings.Contains(string(e.Payload), "MIIEvQ") {
			t.Fatalf("#%d, which no index has met: %s, %v", e.Seq, e.Payload, err)
		}
	}
	x := serve(t, Options{Sessions: []*session.Session{s}})
	<-x.sessions.named[0].ended
	for seq := uint64(3); seq < last; seq += 3 {
		for _, path := range []string{"frame?seq=%d", "rows?n=1&from=%d"} {
			status, body := ask(t, x, fmt.Sprintf(path, seq))
			if status != http.StatusOK || strings.Contains(string(body), "MIIEvQ") || !strings.Contains(string(body), "redacted") {
				t.Fatalf("%s of #%d: %d %s", path, seq, status, body)
			}
		}
	}
}

// TestPolicies: no other page may have one of these in a frame, and nothing is loaded by default.
func TestPolicies(t *testing.T) {
	for _, said := range []string{policy, leadingPolicy} {
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: no %s", said, want)
			}
		}
	}
}

// TestReadFromAnywhere: a reader begins at the event that it is asked for where the index has come, also in a
// session without an end. Before, it reads all events up to there: a secret may have begun in any.
func TestReadFromAnywhere(t *testing.T) {
	home := session.Home{Place: t.TempDir()}
	db, err := boltstore.Open(home.Place, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const cut = 8 // events, of which the last is a message
	fixture := openFixture(t, "../../../../fixtures/seed.jsonl")
	id, err := session.Save(t.Context(), db, func(yield func(store.Event, error) bool) {
		for e, err := range fixture.Recorded(t.Context(), 1, store.ReadOptions{}) {
			if e.Seq > cut || !yield(e, err) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(fixture.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(t.Context(), home, string(id), strings.NewReader(""), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	x, err := openIndex(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	<-x.ended
	if x.source.indexed != cut || x.length() != cut {
		t.Errorf("of %d indexed events the source knows of %d", x.length(), x.source.indexed)
	}
	if err := x.close(); err != nil {
		t.Error(err)
	}
}
