package otlp_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/otlp"
	"github.com/mcprec/mcprec/store"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type writer func(io.Writer, iter.Seq2[store.Event, error], string) error

func written(t *testing.T, write writer, events []store.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, fixtures.Each(events), "0"); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// spansOf reads lines of JSON as the collector does.
func spansOf(t *testing.T, text []byte) (spans []ptrace.Span) {
	t.Helper()
	var u ptrace.JSONUnmarshaler
	for line := range bytes.Lines(text) {
		traces, err := u.UnmarshalTraces(line)
		if err != nil {
			t.Fatal(err)
		}
		spans = append(spans, all(traces)...)
	}
	return spans
}

func all(t ptrace.Traces) (spans []ptrace.Span) {
	for i := range t.ResourceSpans().Len() {
		scopes := t.ResourceSpans().At(i).ScopeSpans()
		for j := range scopes.Len() {
			for k := range scopes.At(j).Spans().Len() {
				spans = append(spans, scopes.At(j).Spans().At(k))
			}
		}
	}
	return spans
}

// TestSessions: what is written of each session is read by the official library, in both
// forms alike, and has a span for each call and one around them.
func TestSessions(t *testing.T) {
	for _, pattern := range []string{"../../fixtures/*.jsonl", "../../fixtures/foreign/testdata/mcp-frames/*.jsonl"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatal(len(paths), err)
		}
		for _, path := range paths {
			events, err := fixtures.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			checkSession(t, filepath.Base(path), events)
		}
	}
}

func checkSession(t *testing.T, name string, events []store.Event) {
	text := written(t, otlp.WriteJSON, events)
	if !bytes.Equal(text, written(t, otlp.WriteJSON, events)) {
		t.Errorf("%s: the same session gives two traces", name)
	}
	calls := replay.NewCalls()
	if err := replay.Project(fixtures.Each(events), calls); err != nil {
		t.Fatal(err)
	}
	spans := spansOf(t, text)
	ids := map[string]bool{}
	failed := 0
	for _, s := range spans {
		ids[s.SpanID().String()] = true
		if s.TraceID().IsEmpty() || s.EndTimestamp() < s.StartTimestamp() {
			t.Errorf("%s: span %s of trace %s from %d to %d", name, s.Name(), s.TraceID(), s.StartTimestamp(), s.EndTimestamp())
		}
		if s.Status().Code() == ptrace.StatusCodeError {
			failed++
		}
	}
	want := 0
	for _, c := range calls.All() {
		if c.Failure != "" {
			want++
		}
	}
	if len(spans) != len(calls.All())+1 || len(ids) != len(spans) || failed != want {
		t.Errorf("%s: %d spans with %d ids, %d failed, of %d calls, %d failed", name, len(spans), len(ids), failed, len(calls.All()), want)
	}
	var u ptrace.ProtoUnmarshaler
	traces, err := u.UnmarshalTraces(written(t, otlp.WriteProto, events))
	if err != nil {
		t.Fatal(name, err)
	}
	if line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces); err != nil || string(line)+"\n" != string(text) {
		t.Errorf("%s: the forms differ: %v", name, err)
	}
}

// TestGolden holds the spans of sessions over stdio and over HTTP, as text.
func TestGolden(t *testing.T) {
	for _, name := range []string{"tour", "http"} {
		events, err := fixtures.ReadFile(filepath.Join("testdata", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, s := range spansOf(t, written(t, otlp.WriteJSON, events)) {
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

func describe(w io.Writer, s ptrace.Span) {
	fmt.Fprintf(w, "%s %s below %s of %s, %v\n", s.SpanID(), s.Name(), s.ParentSpanID(), s.TraceID(), s.EndTimestamp().AsTime().Sub(s.StartTimestamp().AsTime()))
	if s.Status().Code() != ptrace.StatusCodeUnset {
		fmt.Fprintf(w, "  %s %s\n", s.Status().Code(), s.Status().Message())
	}
	for k, v := range s.Attributes().All() {
		fmt.Fprintf(w, "  %s = %s\n", k, v.AsString())
	}
	for i := range s.Links().Len() {
		fmt.Fprintf(w, "  link to %s of %s\n", s.Links().At(i).SpanID(), s.Links().At(i).TraceID())
	}
	for i := range s.Events().Len() {
		fmt.Fprintf(w, "  event %s %v\n", s.Events().At(i).Name(), s.Events().At(i).Attributes().AsRaw())
	}
	if s.Flags() != 0 || s.TraceState().AsRaw() != "" {
		fmt.Fprintf(w, "  flags %#x state %q\n", s.Flags(), s.TraceState().AsRaw())
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
	text := written(t, otlp.WriteJSON, events)
	spans := spansOf(t, text)
	root := spans[len(spans)-1]
	if lines := bytes.Count(text, []byte("\n")); lines != 3 || len(spans) != calls+1 || root.Events().Len() != 1000 || root.DroppedEventsCount() != calls-1000 {
		t.Errorf("%d lines, %d spans, %d events and %d more", lines, len(spans), root.Events().Len(), root.DroppedEventsCount())
	}
	traces, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(written(t, otlp.WriteProto, events))
	if err != nil || len(all(traces)) != calls+1 {
		t.Errorf("as one message: %d spans, %v", len(all(traces)), err)
	}
}
