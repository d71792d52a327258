package external

import (
	"strings"
	"testing"
)

// TestLines holds that a hang names the line of source that holds the call, and that this may be left out.
func TestLines(t *testing.T) {
	for _, noLines := range []bool{false, true} {
		report, err := Explore(counter("holds"), session(), Options{Token: "x1.default", NoLines: noLines})
		if err != nil || len(report.Findings) != 1 || report.Findings[0].Kind != Hang {
			t.Fatalf("%v, found:\n%s", err, report.Text())
		}
		lines := strings.Join(report.Findings[0].Lines, "\n")
		isThere := strings.HasPrefix(lines, "held at explore_linux_test.go:") && strings.HasSuffix(lines, " (external.hold), chan receive")
		if isThere == noLines || noLines && lines != "" {
			t.Errorf("without lines: %t, got %q", noLines, lines)
		}
	}
}
