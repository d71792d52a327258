package replay_test

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
)

// overHTTP plays the two halves of a session to each other over HTTP on loopback.
func overHTTP(t *testing.T, events []store.Event) (faults []string) {
	t.Helper()
	served := []replay.Served{}
	endpoint := replay.NewEndpoint(events, replay.Rules{}, replay.EndpointOptions{
		Done: func(s replay.Served) { served = append(served, s) },
	})
	ran := make(chan error, 1)
	go func() { ran <- endpoint.Run(context.Background()) }()
	server := httptest.NewServer(endpoint)
	driver := replay.NewDriver(events, replay.Rules{})
	conn, err := replay.Dial(events, server.URL+endpoint.Path()).Dial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	end, err := replay.Drive(context.Background(), conn, driver, replay.DriveOptions{Timeout: 10 * time.Second, HangUp: conn.HangUp})
	if err != nil || end != replay.Complete {
		faults = append(faults, string(end))
		if err != nil {
			faults = append(faults, err.Error())
		}
	}
	endpoint.Close()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	server.Close()
	for _, p := range driver.Pending() {
		faults = append(faults, "pending: "+p)
	}
	verdicts := driver.Verdicts()
	for _, s := range served {
		verdicts = append(verdicts, s.Player.Verdicts()...)
		if s.Err != nil {
			faults = append(faults, s.Err.Error())
		}
	}
	for _, v := range verdicts {
		if v.Result != replay.Match {
			faults = append(faults, v.String())
		}
	}
	return faults
}

// impossible are sessions that no copy of their client can have again.
var impossible = map[string]string{
	"http-everything-raw-status-2025-11-25": "by hand: messages with and without the session id, which a frame does not show, and GETs of other paths",
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
		why, excused := impossible[filepath.Base(t.Name())]
		if header.Transport != "http" || excused {
			t.Log(header.Transport, why)
			return
		}
		for _, f := range overHTTP(t, events) {
			t.Error(f)
		}
	})
}
