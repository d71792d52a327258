package main

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/recorder/httptap"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/storetest"
)

// plantedAnswer is what a server says with a secret in all places that HTTP has.
type plantedAnswer struct {
	status int
	header http.Header
	body   []byte
}

// plantedServer answers as it is told, in small pieces, and keeps what it was asked.
type plantedServer struct {
	mu     sync.Mutex
	rnd    *rand.Rand
	answer plantedAnswer
	asked  *http.Request
	body   []byte
}

func (s *plantedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = r
	s.body, _ = io.ReadAll(r.Body)
	for name, values := range s.answer.header {
		w.Header()[name] = values
	}
	w.WriteHeader(s.answer.status)
	for rest := s.answer.body; len(rest) > 0; {
		n := min(len(rest), 1+s.rnd.IntN(len(s.answer.body)))
		_, _ = w.Write(rest[:n])
		_ = http.NewResponseController(w).Flush()
		rest = rest[n:]
	}
}

// pieces is a body of unknown length that is read in pieces.
type pieces struct {
	rest []byte
	rnd  *rand.Rand
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 1+p.rnd.IntN(len(p.rest)))], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// TestPlantedSecretsHTTP: of the planted secrets in headers, URLs, and bodies of all
// forms, codings and cuts none leaves the store,
// and all of it passes as it is.
func TestPlantedSecretsHTTP(t *testing.T) {
	t.Parallel()
	list, dir := secretsPlanted(t), t.TempDir()
	db, err := boltstore.Open(dir, boltstore.Options{Sync: boltstore.SyncNone})
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(2, 8))
	server := &plantedServer{rnd: rnd}
	far := httptest.NewServer(server)
	defer far.Close()
	target, _ := url.Parse(far.URL + "/mcp")
	target.User = url.UserPassword("me", list[len(list)-1].value)
	tap := httptap.New(httptap.Options{Path: "/mcp", Header: store.Header{URL: target.String()}, Open: opener(t, db)})
	near := httptest.NewServer(tap.Proxy(httptap.ProxyOptions{Target: target}))
	defer near.Close()
	for i, p := range list {
		for k, body := range plantedBodies(p) {
			if (i+k)%3 > 0 && !storetest.Night() {
				continue
			}
			server.answer = body
			passPlanted(t, server, plantedRequest(near.URL, p, i+k, rnd), plant(positions[0], p, "5"))
		}
	}
	near.Close()
	tap.Close()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.Tell(t, "two hundred secrets over HTTP: headers, URLs, bodies of all forms and codings", len(list), "none leaves the store; all of it passes unchanged")
	kept := keptOf(t, dir)
	for _, p := range list {
		leaks(t, "the log", kept, p)
	}
	for _, want := range []string{"200", "401", "302", "500", "tools/call", "structuredContent", "[dropped]"} {
		if !bytes.Contains(kept, []byte(want)) {
			t.Errorf("the log has no %s", want)
		}
	}
}

// opener begins recordings in a store.
func opener(t *testing.T, db *boltstore.Store) func(store.Header) *recorder.Recorder {
	return func(h store.Header) *recorder.Recorder {
		rec, err := recorder.New(context.Background(), db, h)
		if err != nil {
			t.Error(err)
		}
		return rec
	}
}

// keptOf returns all payloads of a store as they leave it.
func keptOf(t *testing.T, dir string) (log []byte) {
	t.Helper()
	db, err := boltstore.Open(dir, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	d, err := (&session.Home{}).Masker(db)
	if err != nil {
		t.Fatal(err)
	}
	for s, err := range db.Sessions(context.Background(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range d.Events(db.Read(context.Background(), s.ID, 1, store.ReadOptions{})) {
			if err != nil {
				t.Fatal(err)
			}
			log = append(append(log, e.Payload...), '\n')
		}
	}
	return log
}

// plantedBodies are answers with a secret.
func plantedBodies(p planted) []plantedAnswer {
	var frames []string
	for k, position := range positions[:15] {
		if p.name == "" || strings.Contains(position, "{K}") {
			frames = append(frames, plant(positions[k], p, "5"))
		}
	}
	events := ": " + flat(p) + "\n\n"
	for i, f := range frames {
		events += fmt.Sprintf("id: %d\nevent: message\ndata: %s\n\n", i, f)
	}
	events += "event: note\ndata: " + flat(p) + "\n\nretry: 5\nx-note: " + flat(p) + "\ndata: {\"id\":\ndata: 1}\n\ndata: cut " + flat(p)
	json, text := []byte("["+strings.Join(frames, ",")+"]"), []byte("denied: "+flat(p)+"\n<p>"+flat(p)+"</p>\n")
	var zipped, deflated bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(events))
	_ = z.Close()
	d := zlib.NewWriter(&deflated)
	_, _ = d.Write(json)
	_ = d.Close()
	as := func(status int, kind, coding string, body []byte) plantedAnswer {
		h := http.Header{"Content-Type": {kind}, "Set-Cookie": {"sid=" + oneLine(p) + "; Path=/"}, "X-Note": {oneLine(p)}}
		if coding != "" {
			h.Set("Content-Encoding", coding)
		}
		return plantedAnswer{status, h, body}
	}
	challenge, moved := as(401, "text/plain", "", text), as(302, "text/html", "", text)
	challenge.header.Set("Www-Authenticate", `Bearer realm="mcp", token="`+oneLine(p)+`"`)
	moved.header.Set("Location", "/login?token="+url.QueryEscape(oneLine(p)))
	return []plantedAnswer{as(200, "application/json", "", json), as(200, "text/event-stream", "", []byte(events)),
		as(200, "text/event-stream", "gzip", zipped.Bytes()), as(200, "application/json", "deflate", deflated.Bytes()),
		as(500, "application/json", "", json), as(503, "text/html", "gzip", zipped.Bytes()), challenge, moved}
}

// flat is a secret in a line of text.
func flat(p planted) string {
	if p.name == "" {
		return oneLine(p)
	}
	return p.name + "=" + oneLine(p)
}

func oneLine(p planted) string { return strings.ReplaceAll(p.value, "\n", " ") }

// plantedRequest asks with a secret in headers, in the URL and in the body.
func plantedRequest(base string, p planted, turn int, rnd *rand.Rand) *http.Request {
	name := p.name
	if name == "" {
		name = "note"
	}
	u := base + "/mcp"
	if !strings.Contains(p.value, "\n") {
		u += "?" + url.QueryEscape(name) + "=" + url.QueryEscape(p.value)
	}
	req, _ := http.NewRequest(http.MethodPost, u, &pieces{[]byte(plant(positions[0], p, "5")), rnd})
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Accept-Encoding": {"gzip, deflate"},
		"Authorization": {"Bearer " + oneLine(p)}, "Cookie": {"sid=" + oneLine(p)}, "X-Api-Key": {oneLine(p)}, "X-Note": {oneLine(p)},
		"Proxy-Authorization": {"Basic " + oneLine(p)}, "Mcp-Param-Token": {oneLine(p)}, "Mcp-Session-Id": {"s"}}
	if turn%5 == 0 {
		req.URL.Path = "/token" // a login, of which the body is not recorded
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return req
}

// passPlanted asks, and looks whether question and answer pass as they are.
func passPlanted(t *testing.T, s *plantedServer, req *http.Request, body string) {
	t.Helper()
	sent := req.Header.Clone()
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != s.answer.status || !bytes.Equal(got, s.answer.body) {
		t.Fatalf("%d %q, %v", resp.StatusCode, got, err)
	}
	for name, values := range s.answer.header {
		if resp.Header.Get(name) != values[0] {
			t.Errorf("%s: %q came as %q", name, values[0], resp.Header.Get(name))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if string(s.body) != body || s.asked.URL.RequestURI() != req.URL.RequestURI() {
		t.Fatalf("asked %s %q", s.asked.URL.RequestURI(), s.body)
	}
	for name, values := range sent {
		if name != "Proxy-Authorization" && s.asked.Header.Get(name) != values[0] { // that is the proxy's
			t.Errorf("%s: %q came as %q", name, values[0], s.asked.Header.Get(name))
		}
	}
}
