package external

import (
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
