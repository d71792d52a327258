package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// TestNarrowed: whatever is selected of a session is a session, with the selected
// events and no other.
func TestNarrowed(t *testing.T) {
	var paths []string
	for _, folder := range []string{"../../fixtures", "../../store/foreign/testdata/mcp-frames", "../../replay/standin/testdata/http"} {
		found, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*.jsonl"))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d sessions, %v", folder, len(found), err)
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		events, err := jsonl.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, expr := range []string{"method:tools/*", "status:ok -kind:notification", "dir:s2c", "kind:http|delivered", "kind:lost", "-kind:message"} {
			if fault := narrowedFault(t, events, expr); fault != "" {
				t.Errorf("%s: %s: %s", filepath.Base(path), expr, fault)
			}
		}
	}
}

func narrowedFault(t *testing.T, events []store.Event, expr string) string {
	t.Helper()
	o := exportOptions{filterFlag: filterFlag{expr}}
	var err error
	if o.fits, err = filter.Parse(expr); err != nil {
		t.Fatal(err)
	}
	o.endings = timeline.NewEndings()
	_ = timeline.Project(timeline.Steps(jsonl.Each(events)), o.endings)
	var want, got []string
	whole := func(yield func(store.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
	if err := o.project(whole, func(e timeline.Entry) error {
		if e.Kind == store.Frame || e.Kind == store.Stderr {
			want = append(want, fmt.Sprintf("%v %v %s", e.At, e.Dir, e.Payload))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var valid store.Validator
	for e, nerr := range filterEvents(whole, o) {
		if err = nerr; err == nil {
			err = valid.Check(e)
		}
		if err != nil {
			return err.Error()
		}
		if e.Kind == store.Frame || e.Kind == store.Stderr {
			got = append(got, fmt.Sprintf("%v %v %s", e.At, e.Dir, e.Payload))
		}
		if info, derr := store.DecodePayload[store.DeliveredInfo](e); e.Kind == store.Delivered && (derr != nil || info.Upto >= e.Seq || info.Upto == 0) {
			return fmt.Sprintf("#%d: delivered up to #%d", e.Seq, info.Upto)
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Sprintf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return ""
}

// TestNarrowedNote: the note that no newline ended a frame goes with the frame, and names it.
func TestNarrowedNote(t *testing.T) {
	header := store.Header{ID: "0190aaaa-0000-7000-8000-000000000001", Transport: "stdio"}
	events := []store.Event{
		{Seq: 1, Kind: store.Opened, Payload: header.Encode()},
		{Seq: 2, Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)},
		{Seq: 3, Kind: store.Frame, Dir: transport.ServerToClient, Payload: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)},
		{Seq: 4, Kind: store.Note, Dir: transport.ServerToClient, Payload: store.EncodePayload(store.WithoutNewline(3))},
	}
	for expr, want := range map[string][]uint64{"dir:s2c": {2}, "dir:c2s": nil} {
		o := exportOptions{filterFlag: filterFlag{expr}}
		var err error
		if o.fits, err = filter.Parse(expr); err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for e, err := range filterEvents(jsonl.Each(events), o) {
			if err != nil {
				t.Fatal(err)
			}
			if frame, ok := store.EndsWithoutNewline(e); ok {
				got = append(got, frame)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: notes about %d, want %d", expr, got, want)
		}
	}
}
