package standin_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/streamable"
)

// script makes the HTTP requests of a recording again as they were made, header by
// header, of whatever method, each when what was recorded before it has come. Only the
// ids that the server made up are the live ones. It knows nothing of MCP.
type script struct {
	t   *testing.T
	url string

	mu        sync.Mutex
	came      chan struct{}
	ids       map[string]string // live session and event ids, by recorded ones
	exchanges map[uint64]*scripted
	readers   sync.WaitGroup
}

// scripted is an exchange: what was recorded and what came.
type scripted struct {
	method, path string
	status       int
	recorded     []string // frames and bodies
	events       []string // recorded ids
	header       http.Header
	body         []byte
	cancel       context.CancelFunc
	live         int
	got          []string
}

func (s *script) play(events []store.Event) {
	s.fold(events)
	wanted, said := map[uint64]int{}, map[uint64]bool{}
	for _, e := range events {
		x := s.exchanges[e.Stream]
		if x == nil {
			continue
		}
		info, _ := store.DecodePayload[store.HTTPInfo](e)
		switch {
		case e.Kind == store.Frame && e.Dir == transport.ServerToClient:
			wanted[e.Stream]++
			s.await(fmt.Sprintf("frame %d of exchange %d", wanted[e.Stream], e.Stream), func() bool { return len(x.got) >= wanted[e.Stream] })
		case e.Kind == store.HTTP && info.What == store.HTTPResponse:
			s.await(fmt.Sprintf("response of exchange %d", e.Stream), func() bool { return x.live != 0 })
		case e.Kind == store.HTTP && info.What == store.HTTPEvent && info.SSE != nil && info.SSE.ID != "":
			s.await(fmt.Sprintf("event %s of exchange %d", info.SSE.ID, e.Stream), func() bool { return !slices.Contains(x.events, info.SSE.ID) })
		case e.Kind == store.HTTP && info.What == store.HTTPNone:
			s.await(fmt.Sprintf("end of exchange %d", e.Stream), func() bool { return x.live != 0 })
			x.cancel()
		case e.Kind == store.HTTP && info.What == store.HTTPAbort:
			x.cancel()
		case e.Kind == store.HTTP && info.What == store.HTTPRequest && !said[e.Stream]:
			said[e.Stream] = true
			s.send(e.Stream, x)
		}
	}
	for _, x := range s.exchanges {
		x.cancel()
	}
	s.readers.Wait()
}

// fold takes in what was recorded.
func (s *script) fold(events []store.Event) {
	for _, e := range events {
		if e.Stream == 0 {
			continue
		}
		x := s.exchanges[e.Stream]
		if x == nil {
			x = &scripted{cancel: func() {}}
			s.exchanges[e.Stream] = x
		}
		info, _ := store.DecodePayload[store.HTTPInfo](e)
		if body := info.Body + string(info.Body64); body != "" && e.Kind == store.HTTP && e.Dir == transport.ServerToClient && info.SSE == nil {
			x.recorded = append(x.recorded, body)
		}
		switch {
		case e.Kind == store.Frame && e.Dir == transport.ClientToServer:
			x.body = e.Payload
		case e.Kind == store.Frame:
			x.recorded = append(x.recorded, string(e.Payload))
		case info.What == store.HTTPRequest:
			x.method, x.path, x.header = info.Method, info.Path, http.Header(info.Header).Clone()
		case info.What == store.HTTPResponse:
			x.status = info.Status
			if id := http.Header(info.Header).Get("Mcp-Session-Id"); id != "" {
				x.events = append([]string{"session " + id}, x.events...)
			}
		case info.What == store.HTTPEvent && info.SSE != nil && info.SSE.ID != "":
			x.events = append(x.events, info.SSE.ID)
		}
	}
}

func (s *script) await(what string, done func() bool) {
	patience := time.NewTimer(hangs)
	defer patience.Stop()
	for {
		s.mu.Lock()
		came, ok := s.came, done()
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-came:
		case <-patience.C:
			s.t.Errorf("%s did not come", what)
			return
		}
	}
}

// send makes the request and leaves the response to a reader.
func (s *script) send(number uint64, x *scripted) {
	ctx, cancel := context.WithCancel(context.Background())
	x.cancel = cancel
	r, err := http.NewRequestWithContext(ctx, x.method, s.url+x.path, bytes.NewReader(x.body))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, values := range x.header {
		r.Header[name] = values
	}
	s.mu.Lock()
	for _, name := range []string{"Mcp-Session-Id", "Last-Event-Id"} {
		if live := s.ids[r.Header.Get(name)]; live != "" {
			r.Header.Set(name, live)
		}
	}
	s.mu.Unlock()
	s.readers.Go(func() {
		resp, err := http.DefaultClient.Do(r)
		s.tell(func() {
			if err != nil {
				x.live = -1
				return
			}
			x.live = resp.StatusCode
			if len(x.events) > 0 && strings.HasPrefix(x.events[0], "session ") {
				s.ids[strings.TrimPrefix(x.events[0], "session ")] = resp.Header.Get("Mcp-Session-Id")
				x.events = x.events[1:]
			}
		})
		if err == nil {
			s.read(x, resp)
			_ = resp.Body.Close()
		}
	})
}

func (s *script) tell(what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what()
	close(s.came)
	s.came = make(chan struct{})
}

// read takes in what comes.
func (s *script) read(x *scripted, resp *http.Response) {
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		if b, _ := io.ReadAll(resp.Body); len(b) > 0 {
			s.tell(func() { x.got = append(x.got, string(b)) })
		}
		return
	}
	var scanner streamable.EventScanner
	var data []byte
	chunk := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(chunk)
		for _, ev := range scanner.Scan(chunk[:n]) {
			if data = append(data, ev.Data...); ev.More {
				continue
			}
			text, id := string(data), ""
			for line := range streamable.EventLines(ev.Meta) {
				if value, found := strings.CutPrefix(string(line), "id: "); found {
					id = value
				}
			}
			data = nil
			s.tell(func() {
				if id != "" && len(x.events) > 0 {
					s.ids[x.events[0]], x.events = id, x.events[1:]
				}
				if text != "" {
					x.got = append(x.got, text)
				}
			})
		}
		if err != nil {
			return
		}
	}
}

// TestScripted serves each session recorded over Streamable HTTP to a copy of its
// client that makes the very requests, also those that a client of MCP would not make.
func TestScripted(t *testing.T) {
	eachSessionIn(t, []string{filepath.Join("testdata", "http"), os.Getenv("MCPREC_CORPUS")}, func(t *testing.T, events []store.Event) {
		header, _ := store.ParseHeader(events[0].Payload)
		if header.Transport != "http" || strings.HasPrefix(filepath.Base(t.Name()), "sse-") {
			return
		}
		endpoint := standin.NewEndpoint(events, match.Rules{}, standin.EndpointOptions{Origins: []string{"*"}})
		ran := make(chan error, 1)
		go func() { ran <- endpoint.Run(context.Background()) }()
		server := httptest.NewServer(endpoint)
		s := &script{t: t, url: server.URL, came: make(chan struct{}), ids: map[string]string{}, exchanges: map[uint64]*scripted{}}
		s.play(events)
		endpoint.Close()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		server.Close()
		for number, x := range s.exchanges {
			if x.live != x.status && x.status != 0 { // none: there was no server
				t.Errorf("exchange %d, %s %s: status %d, recorded %d", number, x.method, x.path, x.live, x.status)
			}
			if len(x.recorded) > 0 && len(x.got) != len(x.recorded) {
				t.Errorf("exchange %d, %s %s: got %d messages, recorded %d", number, x.method, x.path, len(x.got), len(x.recorded))
			}
			if x.status >= 400 && x.live == x.status && !slices.EqualFunc(x.got, x.recorded, func(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }) {
				t.Errorf("exchange %d, %s %s: got %q, recorded %q", number, x.method, x.path, x.got, x.recorded)
			}
		}
	})
}
