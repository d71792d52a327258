package view

import (
	"encoding/json"
	"errors"
	"iter"
	"regexp"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/store"
)

// exported returns the page of sessions as a file, and its data.
func exported(t *testing.T, large bool, paths ...string) (page string, d data) {
	t.Helper()
	all := func(events iter.Seq2[store.Event, error]) iter.Seq2[store.Event, error] { return events }
	x := Exported{Large: large, Select: all}
	for _, path := range paths {
		x.Sessions = append(x.Sessions, openFixture(t, path))
	}
	file, err := Export(t.Context(), x)
	for _, s := range x.Sessions {
		_ = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	page = string(file.HTML)
	text := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindStringSubmatch(page)
	if text == nil {
		t.Fatal("the page has no data")
	}
	if err := json.Unmarshal([]byte(text[1]), &d); err != nil {
		t.Fatal(err)
	}
	return page, d
}

// TestExport: the file has its own two script elements, and nothing that a browser would fetch or
// run, whatever a session says.
func TestExport(t *testing.T) {
	for _, path := range []string{"../../../../fixtures/seed.jsonl", "testdata/hostile.jsonl"} {
		page, d := exported(t, false, path)
		if n := strings.Count(strings.ToLower(page), "</script"); n != 2 {
			t.Errorf("%s: %d ends of scripts, want 2", path, n)
		}
		for _, bad := range []string{"<img", "<svg", "<script>", "<!--", "src=\"", "href=\"http", "url(", "@import",
			"\u2028", "\u202e"} {
			if markup := strings.ReplaceAll(strings.ToLower(page), "url(#", ""); strings.Contains(markup, bad) {
				at := strings.Index(markup, bad)
				t.Errorf("%s: has %q in %q", path, bad, markup[max(0, at-30):min(len(markup), at+60)])
			}
		}
		if len(page) > 250_000 {
			t.Errorf("%s: %d bytes, more than an issue takes gladly", path, len(page))
		}
		if !strings.Contains(page, `http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; script-src &#39;sha256-`) {
			t.Errorf("%s: no policy", path)
		}
		if len(d.Frames) == 0 || len(d.States) == 0 || len(d.Runs.List) == 0 || len(d.Runs.Frames) == 0 {
			t.Errorf("%s: %d messages, %d states, %d runs, %d messages of runs", path,
				len(d.Frames), len(d.States), len(d.Runs.List), len(d.Runs.Frames))
		}
	}
}

// TestExportedRuns: the runs of the file have the verdicts of mcprec replay.
func TestExportedRuns(t *testing.T) {
	const path = "../../../../fixtures/seed.jsonl"
	_, d := exported(t, false, path)
	s := openFixture(t, path)
	defer s.Close()
	recording, err := closed.Load(s.Events(t.Context(), 1, store.ReadOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	hangs := 0
	at := 0
	for _, client := range d.Runs.Clients {
		for _, server := range d.Runs.Servers {
			for _, c2s := range d.Runs.Rooms {
				for _, s2c := range d.Runs.Rooms {
					setup, err := parseSetup(client, server, "c2s="+c2s+",s2c="+s2c)
					if err != nil {
						t.Fatal(err)
					}
					members := map[string]json.RawMessage{}
					for n, place := range d.Runs.List[d.Runs.Setups[at]] {
						if place >= 0 {
							members[d.Runs.Names[n]] = d.Runs.Values[place]
						}
					}
					at++
					var steps []int
					var total int
					var verdict, category string
					err = errors.Join(
						json.Unmarshal(members["steps"], &steps), json.Unmarshal(members["total"], &total),
						json.Unmarshal(members["verdict.verdict"], &verdict), json.Unmarshal(members["verdict.category"], &category),
					)
					if err != nil {
						t.Fatal(err)
					}
					want := closed.Judge(recording, setup)
					if verdict != want.Verdict || category != want.Category || total != len(steps)/7 || total == 0 {
						t.Errorf("%+v: %s %s, want %s %s", setup, verdict, category, want.Verdict, want.Category)
					}
					if want.Verdict == closed.Hang {
						hangs++
					}
				}
			}
		}
	}
	if at != len(d.Runs.Setups) || at < 1000 || hangs < 40 {
		t.Errorf("%d of %d runs, %d hangs", at, len(d.Runs.Setups), hangs)
	}
}

// TestExportCompared: the file of two sessions has the comparison.
func TestExportCompared(t *testing.T) {
	_, d := exported(t, false, "../../../../fixtures/memory-2025-06-18.jsonl", "../../../../fixtures/memory-2025-11-25.jsonl")
	compared, _ := json.Marshal(d.Compare)
	if !strings.Contains(string(compared), `"path":"/params/protocolVersion"`) || d.Other == nil {
		t.Errorf("%s", compared)
	}
}

// TestExportLarge: a large session is refused, unless it is forced.
func TestExportLarge(t *testing.T) {
	many := func(iter.Seq2[store.Event, error]) iter.Seq2[store.Event, error] {
		return func(yield func(store.Event, error) bool) {
			opened := store.Header{ID: "019a0000-0000-7000-8000-00000000000a", Transport: "stdio"}.Encode()
			for seq := uint64(1); seq <= mostEvents+1; seq++ {
				e := store.Event{Seq: seq, Kind: store.Note, Payload: []byte("x")}
				if seq == 1 {
					e = store.Event{Seq: 1, Kind: store.Opened, Payload: opened}
				}
				if !yield(e, nil) {
					return
				}
			}
		}
	}
	s := openFixture(t, "../../../../fixtures/seed.jsonl")
	defer s.Close()
	_, err := Export(t.Context(), Exported{Sessions: []*session.Session{s}, Select: many})
	if err == nil || !strings.Contains(err.Error(), "more than 20000 events or 20 MB; use --filter") {
		t.Errorf("%v", err)
	}
}

// TestHostile: no answer about a hostile session has markup or hidden characters in a label.
func TestHostile(t *testing.T) {
	x := serve(t, Options{Sessions: []*session.Session{openFixture(t, "testdata/hostile.jsonl")}})
	<-x.sessions.named[0].ended
	for _, path := range []string{"session", "rows", "overview", "state?at=6", "findings", "why",
		"frame?seq=4", "run?client=notification-queue=0", "diagram?to=99&format=text", "diagram?to=99&format=mermaid"} {
		status, body := ask(t, x, path)
		if status != 200 || strings.ContainsAny(string(body), "<>\u2028\u001b") || strings.Contains(string(body), "\u202e") {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
}
