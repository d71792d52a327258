//go:build unix

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/store"
)

// TestGoneMeanwhile holds that a command which reads all the sessions of a listing goes on without one that is
// removed before it is read: it is no fault, no error of usage, and not counted.
func TestGoneMeanwhile(t *testing.T) {
	folder := t.TempDir()
	for _, fixture := range []string{"seed", "crossing"} {
		mcprec(t, "import", "--store", folder, "../../fixtures/"+fixture+".jsonl")
	}
	home := home{session.Home{Place: folder}}
	db, err := session.OpenUnmasked(t.Context(), home.Home)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var listed []store.Session
	for s, err := range db.Sessions(t.Context(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, s)
	}
	gone := listed[0].ID
	if err := db.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetOut(&said)
	cmd.SetErr(&said)

	v := verification{cmd: cmd}
	v.logs(db, listed)
	if len(v.faults) > 0 || v.sessions != 1 || v.events == 0 {
		t.Errorf("verify: %d sessions, %d events, faults %q", v.sessions, v.events, v.faults)
	}
	told := newCheckReport(output.NewScreen(&said, "never"), checkOptions{all: true, format: output.Text})
	if err := checkListed(cmd, checkOptions{all: true, format: output.Text}, db, listed, told); err != nil || told.sessions != 1 {
		t.Errorf("check --all: %d sessions, %v", told.sessions, err)
	}
	hung, err := (&listOptions{hung: true}).hangs(cmd, db, listed)
	if _, isThere := hung[gone]; err != nil || len(hung) != 1 || isThere {
		t.Errorf("list --hung: %d sessions, %v", len(hung), err)
	}
	if sums, err := db.Summaries(t.Context(), listed); err != nil || len(sums) != 1 {
		t.Errorf("tools: %d sessions, %v", len(sums), err)
	}
	fits, err := filter.Parse("kind:message")
	if err != nil {
		t.Fatal(err)
	}
	if fitting, err := db.Fitting(t.Context(), listed, fits); err != nil || len(fitting) != 1 {
		t.Errorf("list --filter: %d sessions, %v", len(fitting), err)
	}
	scan := &secretScan{cmd: cmd}
	for _, s := range listed {
		scan.session(db.Unmasked(s.ID))
	}
	if scan.faults != nil || scan.sessions != 1 {
		t.Errorf("redact --scan: %d sessions, %v", scan.sessions, scan.faults)
	}
	if _, err := (whyOptions{}).lastAsked(cmd, db, listed); err != nil {
		t.Errorf("why: %v", err)
	}
	if strings.Contains(said.String(), string(gone)) {
		t.Errorf("it says %s", &said)
	}
}
