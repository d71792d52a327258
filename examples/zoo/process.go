package zoo

import (
	"cmp"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/replay/external"
	"github.com/mcprec/mcprec/store"
)

// Process is a bug of a program in any language, which exploring a real process shows.
type Process struct {
	Name    string
	Release string // of the program, as server-memory@2026.8.31
	SDK     any    // any function of the SDK's, if that is in the test binary; then it is the Release
	// Explore plays a session to the program: [external.Explore] or [external.ExploreClient].
	Explore func([]store.Event, external.Options) (external.Report, error)
	Session string         // the file with the recorded session
	Want    external.Fault // "": nothing is found
	Says    []string       // what the text of the report must contain
	Orders  int            // how many are tried; 0: as many as have each join of a short session among them
}

// Unheeded is a Want: nothing is found, and a note says that a cancelled call was answered.
const Unheeded external.Fault = "cancelled, answered"

// Run explores the case and fails unless it is as wanted.
func (p Process) Run(t *testing.T) {
	t.Helper()
	if p.SDK != nil {
		p.Release = moduleOf(p.SDK)
	}
	const usual = 8
	report, err := p.Explore(fixtures.Load(t, p.Session).Events(), external.Options{Schedules: cmp.Or(p.Orders, usual), SameOutput: true})
	if err != nil {
		t.Fatal(err)
	}
	row := Row{Bug: p.Name, Module: p.Release, Verdict: explore.Pass, Wanted: explore.Pass}
	if p.Want != "" {
		row.Wanted = string(p.Want)
	}
	switch {
	case !report.Passed():
		row.Verdict = string(report.Findings[0].Kind)
	case len(report.Unheeded) > 0:
		row.Verdict = string(Unheeded)
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
