package external

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLines holds that a hang names the line of source that holds the call, and a server that does not exit the line at
// which it stays; and that this may be left out.
func TestLines(t *testing.T) {
	for _, row := range []struct {
		fault, function string
		kind            Fault
	}{{"holds", "external.hold", Hang}, {"lingers", "external.atEnd", Lingers}} {
		for _, noLines := range []bool{false, true} {
			report, err := Explore(counter(row.fault), session(), Options{Token: "x1.default", NoLines: noLines})
			if err != nil || len(report.Findings) != 1 || report.Findings[0].Kind != row.kind {
				t.Fatalf("%v, found:\n%s", err, report.Text())
			}
			lines := strings.Join(report.Findings[0].Lines, "\n")
			isThere := strings.HasPrefix(lines, "held at ") && strings.Contains(lines, "_linux_test.go:") && strings.Contains(lines, " ("+row.function+"), ")
			if isThere == noLines || noLines && lines != "" {
				t.Errorf("%s, without lines: %t, got %q", row.fault, noLines, lines)
			}
		}
	}
}

// TestRaceLines holds that a race names where one call waited while the other went on, and that this may be left out.
func TestRaceLines(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not here")
	}
	server := Server{Command: []string{"node", filepath.Join("testdata", "forgets.mjs")}}
	for noLines, want := range map[bool]string{
		false: "tools/call (id 1) waited at forgets.mjs:8 (add), called from forgets.mjs:14, while tools/call (id 2) went on",
		true:  "",
	} {
		report, err := Explore(server, session(), Options{Token: "x1.join5-7", NoLines: noLines})
		if err != nil || len(report.Findings) != 1 || report.Findings[0].Kind != NotSerial {
			t.Fatalf("%v, found:\n%s", err, report.Text())
		}
		if got := strings.Join(report.Findings[0].Lines, "\n"); got != want {
			t.Errorf("without lines: %t, got %q, want %q", noLines, got, want)
		}
	}
}
