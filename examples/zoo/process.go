package zoo

import (
	"strings"
	"testing"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/replay/external"
)

// Process is a bug of a server in any language, which exploring a real process shows.
type Process struct {
	Name    string
	Release string // of the server, as server-memory@2026.8.31
	Server  external.Server
	Session string         // the file with the recorded session
	Want    external.Fault // "": nothing is found
	Says    []string       // what the text of the finding must contain
}

// Run explores the case and fails unless it is as wanted. Where the system cannot tell whether a process
// is at rest, it is skipped.
func (p Process) Run(t *testing.T) {
	t.Helper()
	const schedules = 20
	report, err := external.Explore(p.Server, fixtures.Load(t, p.Session).Events(), external.Options{Schedules: schedules})
	if err != nil {
		t.Fatal(err)
	}
	row := Row{Bug: p.Name, Module: p.Release, Verdict: explore.Pass, Wanted: explore.Pass}
	if p.Want != "" {
		row.Wanted = string(p.Want)
	}
	if !report.Passed() {
		row.Verdict = string(report.Findings[0].Kind)
	}
	defer func() { row.Failed = t.Failed(); row.Add(t) }()
	text := report.Text()
	if row.Verdict != row.Wanted {
		t.Fatalf("case %s at %s: got %s, want %s\n%s", p.Name, p.Release, row.Verdict, row.Wanted, text)
	}
	for _, part := range p.Says {
		if !strings.Contains(text, part) {
			t.Errorf("the report does not say %q\n%s", part, text)
		}
	}
	if testing.Verbose() {
		t.Logf("case %s at %s\n%s", p.Name, p.Release, text)
	}
}
