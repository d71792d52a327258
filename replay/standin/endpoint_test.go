package standin_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// hangs is how long a test waits for what comes at once, or never: on the busiest
// machine it is only to say what the test hung at.
const hangs = 5 * time.Minute

// overHTTP serves a session over HTTP, on loopback or on a network of its own, to several
// copies of its own client at once, and returns what was not as recorded.
func overHTTP(t *testing.T, events []store.Event, clients int, network *memoryNetwork) (faults []string) {
	t.Helper()
	var verdicts []match.StepVerdict
	done := func(s standin.Served) {
		verdicts = append(verdicts, s.Player.Verdicts()...)
		if s.Err != nil {
			faults = append(faults, s.Err.Error())
		}
	}
	endpoint := standin.NewEndpoint(events, match.Rules{}, standin.EndpointOptions{
		Watch: func(*standin.ServeOptions) func(standin.Served) { return done },
	})
	ran := make(chan error, 1)
	go func() { ran <- endpoint.Run(context.Background()) }()
	server := httptest.NewUnstartedServer(endpoint)
	if network != nil {
		_ = server.Listener.Close()
		server.Listener = network
	}
	server.Start()
	client := standin.Dial(events, server.URL+endpoint.Path())
	if network != nil {
		web := &http.Transport{DialContext: network.dial}
		defer web.CloseIdleConnections()
		client.Client = &http.Client{Transport: web}
	}
	drivers := make([]*standin.Driver, clients)
	var driving sync.WaitGroup
	ends := make(chan error, clients)
	raw := make(chan []match.StepVerdict, clients)
	for i := range drivers {
		drivers[i] = standin.NewDriver(events, match.Rules{})
		driving.Go(func() {
			conn, err := standin.DialRaw(context.Background(), client, events)
			if err != nil {
				raw <- nil
				ends <- err
				return
			}
			end, err := standin.Drive(context.Background(), conn, drivers[i], standin.DriveOptions{Timeout: hangs, HangUp: conn.HangUp})
			if err == nil && end != standin.Complete {
				err = fmt.Errorf("the drive ended: %s", end)
			}
			raw <- conn.RawVerdicts()
			ends <- err
		})
	}
	driving.Wait()
	endpoint.Close()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	server.Close()
	for _, d := range drivers {
		if err := <-ends; err != nil {
			faults = append(faults, err.Error())
		}
		faults = append(faults, d.Pending()...)
		verdicts = append(verdicts, d.Verdicts()...)
		verdicts = append(verdicts, <-raw...)
	}
	for _, v := range verdicts {
		if v.Result != match.Match {
			faults = append(faults, v.String())
		}
	}
	return faults
}

// TestOverHTTP serves each session that was recorded over HTTP to a scripted copy of
// its own client: those of testdata/http, and the whole set where $MCPREC_CORPUS names
// its folder. Among them are a stream that is cut and resumed, a listen stream with
// calls beside it, a session without ids, and HTTP+SSE.
func TestOverHTTP(t *testing.T) {
	eachSessionIn(t, []string{filepath.Join("testdata", "http"), os.Getenv("MCPREC_CORPUS")}, func(t *testing.T, events []store.Event) {
		header, err := store.ParseHeader(events[0].Payload)
		if err != nil {
			t.Fatal(err)
		}
		if header.Transport != "http" {
			return
		}
		for _, f := range overHTTP(t, events, 1, nil) {
			t.Error(f)
		}
	})
}

// Three clients of one endpoint each have a session of their own, all as recorded.
func TestParallelClients(t *testing.T) {
	for _, name := range []string{"http-ts1simple-ts1_32-resume-2025-11-25", "sse-ts1compat-ts1_11-compat-2025-03-26"} {
		events, err := jsonl.ReadFile(filepath.Join("testdata", "http", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range overHTTP(t, events, 3, nil) {
			t.Errorf("%s: %s", name, f)
		}
	}
}

// One endpoint was recorded for two clients. Their sessions are told apart by their
// ids, and each live client gets the one that begins as it does; where there are no
// ids, the answers are told apart by their exchanges.
func TestSessionsOfOneEndpoint(t *testing.T) {
	for name, lines := range map[string]string{"with ids": `
1 POST a > {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"a"}}}
2 POST b > {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"b"}}}
2 POST b < {"jsonrpc":"2.0","id":0,"result":{"of":"b"}}
1 POST a < {"jsonrpc":"2.0","id":0,"result":{"of":"a"}}
3 POST a > {"jsonrpc":"2.0","id":1,"method":"tools/list"}
4 POST b > {"jsonrpc":"2.0","id":1,"method":"tools/list"}
3 POST a < {"jsonrpc":"2.0","id":1,"result":{"tools":["a"]}}
4 POST b < {"jsonrpc":"2.0","id":1,"result":{"tools":["b"]}}`, "stateless": `
1 POST - > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
2 POST - > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b"}}
1 POST - < {"jsonrpc":"2.0","id":1,"result":{"of":"a"}}
2 POST - < {"jsonrpc":"2.0","id":1,"result":{"of":"b"}}`} {
		for _, f := range overHTTP(t, recordedHTTP(t, lines), 1, nil) {
			t.Errorf("%s: %s", name, f)
		}
	}
}

// recordedHTTP makes a session of lines, a second apart: exchange, method, session, direction,
// and what is said: a frame; of a client that it hangs up; of a server a status or the
// beginning of a stream.
func recordedHTTP(t *testing.T, lines string) []store.Event {
	t.Helper()
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: store.Header{Transport: "http"}.Encode()}}
	var at time.Duration
	add := func(e store.Event) {
		e.Seq = uint64(len(events)) + 1
		e.At = at
		events = append(events, e)
	}
	begun := map[uint64]bool{}
	for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		at += time.Second
		if line == "- - - the end" {
			add(store.Event{Kind: store.Closed})
			continue
		}
		var stream uint64
		var method, session, arrow string
		if _, err := fmt.Sscan(line, &stream, &method, &session, &arrow); err != nil {
			t.Fatal(err)
		}
		_, said, _ := strings.Cut(line, arrow+" ")
		isFrame := strings.HasPrefix(said, "{")
		info := store.HTTPInfo{What: store.HTTPRequest, Method: method, Path: "/mcp", Header: map[string][]string{}}
		dir := transport.ClientToServer
		if arrow == "<" {
			dir = transport.ServerToClient
			info = store.HTTPInfo{What: store.HTTPResponse, Status: 200, Header: map[string][]string{"Content-Type": {"application/json"}}}
		}
		switch {
		case isFrame:
		case said == "hangs up":
			info = store.HTTPInfo{What: store.HTTPAbort}
		case said == "a stream":
			info.Header["Content-Type"] = []string{"text/event-stream"}
		default:
			info.Header = map[string][]string{}
			if _, err := fmt.Sscan(said, &info.Status); err != nil {
				t.Fatal(err)
			}
		}
		if session != "-" && info.Header != nil {
			info.Header["Mcp-Session-Id"] = []string{session}
		}
		if info.What != store.HTTPResponse || !begun[stream] {
			add(store.Event{Kind: store.HTTP, Dir: dir, Stream: stream, Payload: store.EncodePayload(info)})
		}
		begun[stream] = info.What == store.HTTPResponse
		if isFrame {
			add(store.Event{Kind: store.Frame, Dir: dir, Stream: stream, Payload: []byte(said)})
		}
	}
	return events
}
