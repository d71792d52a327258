package zoo

import (
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/explore"
)

// Plain is a bug between two processes, where no engine sees who waits, or of chance. Do
// returns what is wrong, or nil; it waits for events and for no clock, so that a
// release which does otherwise than expected may end at go test's own timeout.
type Plain struct {
	Name string
	SDK  any // any function of the SDK's
	Do   func(t *testing.T) error
	Want map[string]string // what the error says, by the SDK's version; "" is a pass
}

// Run runs the case and fails unless it is as wanted.
func (p Plain) Run(t *testing.T) {
	t.Helper()
	module := moduleOf(p.SDK)
	_, version, _ := strings.Cut(module, "@")
	want, ok := p.Want[version]
	if !ok && strings.HasSuffix(version, Patched) {
		Row{Bug: p.Name}.Add(t) // no patch is for this bug
		return
	}
	if !ok {
		t.Fatalf("case %s: nothing is said of version %s", p.Name, version)
	}
	err := p.Do(t)
	row := Row{Bug: p.Name, Module: module, Verdict: explore.Pass, Wanted: explore.Pass}
	if err != nil {
		row.Verdict = explore.CheckFailed
	}
	if want != "" {
		row.Wanted = explore.CheckFailed
	}
	defer func() { row.Failed = t.Failed(); row.Add(t) }()
	if row.Verdict != row.Wanted || err != nil && !strings.Contains(err.Error(), want) {
		t.Fatalf("case %s at %s: got %v, want %q", p.Name, version, err, want)
	}
}
