package explore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// kept writes the failing run as a fixture and reads it again.
func kept(t *testing.T, r explore.Report) []store.Event {
	t.Helper()
	path := filepath.Join(t.TempDir(), "failing.jsonl")
	if err := jsonl.WriteFile(path, jsonl.Each(r.Events)); err != nil {
		t.Fatal(err)
	}
	events, err := jsonl.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != len(r.Events) {
		t.Errorf("%d events, written %d", len(events), len(r.Events))
	}
	return events
}

// The failing run is a recording in which a closed replay proves the same hang:
// with the client's inner queue, and not with one for all that was sent.
func TestEvents(t *testing.T) {
	for _, c := range []struct {
		notifications, queue, capacity int
		category                       string
	}{
		{1, 0, 0, closed.BehindNotification},                 // the response is in the server's hand
		{2, 0, 0, closed.NeverSent},                          // the server is at the second notification
		{5, 3, 1, closed.BehindNotification},                 // the response is in the server's hand
		{5, 1, explore.Unbounded, closed.BehindNotification}, // the response is queued
	} {
		r := explore.Search(t, explore.Plan{Setup: explore.Seed(c.notifications, c.queue),
			Capacities: []explore.Capacity{{C2S: c.capacity, S2C: c.capacity}}})
		recording, err := closed.Load(jsonl.Each(kept(t, r)))
		if err != nil {
			t.Fatal(err)
		}
		v := closed.Replay(recording, closed.Setup{Client: closed.NotificationQueue(c.queue)})
		if v.Verdict != closed.Hang || v.Category != c.category {
			t.Errorf("%+v: replayed: %s %s\n%s", c, v.Verdict, v.Category, text(r.Events))
		}
		if v := closed.Replay(recording, closed.Setup{Client: closed.NotificationQueue(c.notifications)}); v.Verdict != closed.Pass {
			t.Errorf("%+v: replayed with a queue for all: %s\n%s", c, v.Explanation, text(r.Events))
		}
	}
}

// A run's events are those of a tap: what was read before a frame was written
// stands before it.
func TestEventsOrder(t *testing.T) {
	r := explore.Search(t, explore.Plan{Setup: explore.RegisterAfterWrite(1)})
	const want = `opened
c2s frame tools/call
delivered 2
s2c frame notifications/message
delivered 4
s2c frame response
delivered 6
note
closed`
	if got := text(kept(t, r)); got != want {
		t.Errorf("got\n%s\nwant\n%s\n%s", got, want, r.Text())
	}
	last := r.Events[len(r.Events)-2]
	if !strings.HasPrefix(string(last.Payload), "hang answer lost, token "+r.Token) {
		t.Errorf("note: %s", last.Payload)
	}
	again := explore.Search(t, explore.Plan{Setup: explore.RegisterAfterWrite(1), Token: r.Token})
	for i, e := range again.Events {
		if !e.Equal(r.Events[i]) {
			t.Errorf("event %d is another time %s, was %s", e.Seq, e.Payload, r.Events[i].Payload)
		}
	}
}

func text(events []store.Event) string {
	var lines []string
	for _, e := range events {
		line := string(e.Kind)
		switch e.Kind {
		case store.Frame:
			m, _ := e.AsFrame().Messages()
			what := m[0].Method
			if m[0].Kind() == transport.Response {
				what = "response"
			}
			line = e.Dir.String() + " " + line + " " + what
		case store.Delivered:
			line += " " + string(bytes.Trim(e.Payload[len(`{"upto":`):bytes.IndexByte(e.Payload, ',')], " "))
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Endpoint models share nothing but the recording: their runs may be made at once.
func TestWorkersModeled(t *testing.T) {
	t.Parallel()
	events := explore.Search(t, explore.Plan{Setup: explore.Seed(5, 3), Schedules: 1}).Events
	for queue := range 5 {
		p, err := explore.Modeled(events, closed.NotificationQueue(queue), closed.Independent)
		if err != nil {
			t.Fatal(err)
		}
		p.Strategy, p.Schedules = explore.Random, 50
		want := explore.Search(t, p).Text()
		for _, p.Workers = range []int{2, 5} {
			if got := explore.Search(t, p).Text(); got != want {
				t.Errorf("a notification queue of %d, %d workers:\n%s\nwant\n%s", queue, p.Workers, got, want)
			}
		}
	}
}

// A writing side that was closed alone is an end of the stream in the recording, and
// the close of both after it is no second one.
func TestEventsHalfClose(t *testing.T) {
	r := explore.Search(t, explore.Plan{Schedules: 1, Setup: func(r *explore.Run) {
		r.Op("client", func(ctx context.Context) error {
			if err := r.Client().(transport.HalfCloser).CloseWrite(); err != nil {
				return err
			}
			if _, err := r.Server().Read(ctx); !errors.Is(err, io.EOF) {
				return err
			}
			return errors.Join(r.Client().Close(), errors.New("show the run"))
		})
	}})
	var dirs []transport.Direction
	for _, e := range kept(t, r) {
		if e.Kind == store.EOF {
			dirs = append(dirs, e.Dir)
		}
	}
	if len(dirs) != 1 || dirs[0] != transport.ClientToServer {
		t.Errorf("%s: ends of stream %v", r.Text(), dirs)
	}
}
