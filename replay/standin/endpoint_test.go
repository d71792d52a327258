package standin_test

import (
	"context"
	"fmt"
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

// overHTTP serves a session over HTTP on loopback to several copies of its own client
// at once, and returns what was not as recorded.
func overHTTP(t *testing.T, events []store.Event, clients int) (faults []string) {
	t.Helper()
	var verdicts []match.StepVerdict
	done := func(s standin.Served) {
		verdicts = append(verdicts, s.Player.Verdicts()...)
		if s.Err != nil {
			faults = append(faults, s.Err.Error())
		}
	}
	endpoint := standin.NewEndpoint(events, match.Rules{}, standin.EndpointOptions{
		Watch: func() (func(string), func(standin.Served)) { return nil, done },
	})
	ran := make(chan error, 1)
	go func() { ran <- endpoint.Run(context.Background()) }()
	server := httptest.NewServer(endpoint)
	drivers := make([]*standin.Driver, clients)
	var driving sync.WaitGroup
	ends := make(chan error, clients)
	for i := range drivers {
		drivers[i] = standin.NewDriver(events, match.Rules{})
		driving.Go(func() { ends <- driveURL(events, server.URL+endpoint.Path(), drivers[i]) })
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
	}
	for _, v := range verdicts {
		if v.Result != match.Match {
			faults = append(faults, v.String())
		}
	}
	return faults
}

func driveURL(events []store.Event, url string, d *standin.Driver) error {
	conn, err := standin.Dial(events, url).Dial(context.Background())
	if err != nil {
		return err
	}
	end, err := standin.Drive(context.Background(), conn, d, standin.DriveOptions{Timeout: hangs, HangUp: conn.HangUp})
	if err == nil && end != standin.Complete {
		err = fmt.Errorf("the drive ended: %s", end)
	}
	return err
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
		for _, f := range overHTTP(t, events, 1) {
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
		for _, f := range overHTTP(t, events, 3) {
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
		for _, f := range overHTTP(t, recordedHTTP(t, lines), 1) {
			t.Errorf("%s: %s", name, f)
		}
	}
}

// recordedHTTP makes a session of lines: exchange, method, session, direction, frame.
func recordedHTTP(t *testing.T, lines string) []store.Event {
	t.Helper()
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: store.Header{Transport: "http"}.Encode()}}
	add := func(e store.Event) {
		e.Seq = uint64(len(events)) + 1
		events = append(events, e)
	}
	for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		var stream uint64
		var method, session, arrow string
		if _, err := fmt.Sscan(line, &stream, &method, &session, &arrow); err != nil {
			t.Fatal(err)
		}
		info := store.HTTPInfo{What: store.HTTPRequest, Method: method, Path: "/mcp"}
		dir := transport.ClientToServer
		if arrow == "<" {
			dir = transport.ServerToClient
			info = store.HTTPInfo{What: store.HTTPResponse, Status: 200, Header: map[string][]string{"Content-Type": {"application/json"}}}
		}
		if session != "-" {
			if info.Header == nil {
				info.Header = map[string][]string{}
			}
			info.Header["Mcp-Session-Id"] = []string{session}
		}
		_, frame, _ := strings.Cut(line, arrow+" ")
		add(store.Event{Kind: store.HTTP, Dir: dir, Stream: stream, Payload: store.EncodePayload(info)})
		add(store.Event{Kind: store.Frame, Dir: dir, Stream: stream, Payload: []byte(frame)})
	}
	return events
}
