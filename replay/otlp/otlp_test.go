package otlp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/replay/otlp"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport/mcp"
)

var update = replaytest.Update

// readSpan is a span as a reader of the format has it.
type readSpan struct {
	TraceID, SpanID, ParentSpanID, TraceState, Name string

	Kind, Flags        int
	StartTimeUnixNano  int64 `json:",string"`
	EndTimeUnixNano    int64 `json:",string"`
	Attributes         keyValues
	DroppedEventsCount int
	Events             []struct {
		TimeUnixNano string
		Name         string
		Attributes   keyValues
	}
	Links  []struct{ TraceID, SpanID string }
	Status struct {
		Code    int
		Message string
	}
}

type keyValues []struct {
	Key   string
	Value map[string]any // one member: its type, and the value
}

// plain returns the values by their keys.
func (list keyValues) plain() map[string]any {
	values := map[string]any{}
	for _, a := range list {
		for _, v := range a.Value {
			values[a.Key] = v
		}
	}
	return values
}

func written(t *testing.T, events []store.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := otlp.WriteJSON(&b, jsonl.Each(events), "0"); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// spansOf reads lines of JSON, with no member that is not of the format.
func spansOf(t *testing.T, text []byte) (spans []readSpan) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	for {
		var traces struct {
			ResourceSpans []struct {
				Resource   struct{ Attributes keyValues }
				ScopeSpans []struct {
					Scope struct{ Name, Version string }
					Spans []readSpan
				}
			}
		}
		if err := d.Decode(&traces); err == io.EOF {
			return spans
		} else if err != nil {
			t.Fatal(err)
		}
		for _, r := range traces.ResourceSpans {
			spans = append(spans, r.ScopeSpans[0].Spans...)
		}
	}
}

// TestSessions: what is written of each session is read by the official library, and has a span for each call and one around them.
func TestSessions(t *testing.T) {
	for _, pattern := range []string{"../../fixtures/*.jsonl", "../../store/foreign/testdata/mcp-frames/*.jsonl"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatal(len(paths), err)
		}
		for _, path := range paths {
			events, err := jsonl.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			checkSession(t, filepath.Base(path), events)
		}
	}
}

func checkSession(t *testing.T, name string, events []store.Event) {
	text := written(t, events)
	if !bytes.Equal(text, written(t, events)) {
		t.Errorf("%s: the same session gives two traces", name)
	}
	calls := timeline.CallsOf(events)
	spans := spansOf(t, text)
	ids := map[string]bool{}
	failed := 0
	for _, s := range spans {
		ids[s.SpanID] = true
		if len(s.TraceID) != 32 || s.TraceID == strings.Repeat("0", 32) || s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("%s: span %s of trace %s from %d to %d", name, s.Name, s.TraceID, s.StartTimeUnixNano, s.EndTimeUnixNano)
		}
		if s.Status.Code == 2 {
			failed++
		}
	}
	want := 0
	for _, c := range calls.All() {
		if c.Failure != "" || !c.Answered() && c.Method != mcp.MethodListen {
			want++
		}
	}
	if len(spans) != len(calls.All())+1 || len(ids) != len(spans) || failed != want {
		t.Errorf("%s: %d spans with %d ids, %d failed, of %d calls, %d failed", name, len(spans), len(ids), failed, len(calls.All()), want)
	}
}

// TestGolden holds the spans of sessions over stdio and over HTTP, as text.
func TestGolden(t *testing.T) {
	for _, name := range []string{"tour", "http"} {
		events, err := jsonl.ReadFile(filepath.Join("testdata", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, s := range spansOf(t, written(t, events)) {
			describe(&got, s)
		}
		golden := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(got.String()), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || got.String() != string(want) {
			t.Errorf("%s: %v; got\n%s", name, err, got.String())
		}
	}
}

func describe(w io.Writer, s readSpan) {
	fmt.Fprintf(w, "%s %s below %s of %s, %v\n", s.SpanID, s.Name, s.ParentSpanID, s.TraceID, time.Duration(s.EndTimeUnixNano-s.StartTimeUnixNano))
	if s.Status.Code != 0 {
		fmt.Fprintf(w, "  status %d %s\n", s.Status.Code, s.Status.Message)
	}
	for _, a := range s.Attributes {
		fmt.Fprintf(w, "  %s = %v\n", a.Key, keyValues{a}.plain()[a.Key])
	}
	for _, l := range s.Links {
		fmt.Fprintf(w, "  link to %s of %s\n", l.SpanID, l.TraceID)
	}
	for _, e := range s.Events {
		fmt.Fprintf(w, "  event %s %v\n", e.Name, e.Attributes.plain())
	}
	if s.Flags != 0 || s.TraceState != "" {
		fmt.Fprintf(w, "  flags %#x state %q\n", s.Flags, s.TraceState)
	}
}

// TestBatches: a long session goes out in lines that each stand alone, and none of its
// calls is missing; of a flood of notifications the rest is counted.
func TestBatches(t *testing.T) {
	const calls = 20_000
	header := store.Header{ID: "0190aaaa-0000-7000-8000-000000000001"}
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: header.Encode()}}
	add := func(dir byte, text string) {
		e := store.Event{Seq: uint64(len(events)) + 1, Kind: store.Frame, Dir: 1, Payload: []byte(text)}
		if dir == 's' {
			e.Dir = 2
		}
		events = append(events, e)
	}
	for i := range calls {
		add('c', fmt.Sprintf(`{"id":%d,"method":"ping"}`, i))
		add('s', `{"method":"notifications/tools/list_changed"}`)
		add('s', fmt.Sprintf(`{"id":%d,"result":{}}`, i))
	}
	text := written(t, events)
	spans := spansOf(t, text)
	root := spans[len(spans)-1]
	if lines := bytes.Count(text, []byte("\n")); lines != 3 || len(spans) != calls+1 || len(root.Events) != 1000 || root.DroppedEventsCount != calls-1000 {
		t.Errorf("%d lines, %d spans, %d events and %d more", lines, len(spans), len(root.Events), root.DroppedEventsCount)
	}
}

// TestRefusedAnswer: an answer that HTTP refuses ends no span.
func TestRefusedAnswer(t *testing.T) {
	for lines, want := range map[int]string{
		13: "elicitation/create 6ms status 0", // answered again
		9:  "elicitation/create 4ms status 2 no answer",
		7:  "elicitation/create 2ms status 0", // nothing says that HTTP refused it
	} {
		text := strings.Join(strings.SplitAfter(replaytest.RefusedAnswer, "\n")[:lines], "")
		var b bytes.Buffer
		if err := otlp.WriteJSON(&b, jsonl.Decode(strings.NewReader(text)), "0"); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range spansOf(t, b.Bytes()) {
			if s.Name == "elicitation/create" {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s %v status %d %s", s.Name, time.Duration(s.EndTimeUnixNano-s.StartTimeUnixNano), s.Status.Code, s.Status.Message)))
			}
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("of %d events: %q, want %q", lines, got, want)
		}
	}
}
