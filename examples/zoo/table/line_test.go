package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/examples/zoo"
)

// A line says yes only when each release there is gave what was wanted.
func TestLines(t *testing.T) {
	hang := zoo.Row{Bug: "b", Module: "sdk@v1.0.0", Verdict: "hang lock", Wanted: "hang lock", Schedules: "3"}
	pass := zoo.Row{Bug: "b", Module: "sdk@v1.1.0", Verdict: "pass", Wanted: "pass"}
	other, failed := pass, hang
	other.Verdict, failed.Failed = "stall", true
	for _, c := range []struct {
		name         string
		buggy, fixed []zoo.Row
		two          bool
		want         string
	}{
		{"both", []zoo.Row{hang}, []zoo.Row{pass}, true, "b sdk@v1.0.0 hang lock 3 sdk@v1.1.0 pass yes"},
		{"never fixed", []zoo.Row{hang}, nil, false, "b sdk@v1.0.0 hang lock 3 - - yes"},
		{"no patch", []zoo.Row{hang}, []zoo.Row{{Bug: "b"}}, true, "b sdk@v1.0.0 hang lock 3 - - yes"},
		{"fixed is not", []zoo.Row{hang}, []zoo.Row{other}, true, "b sdk@v1.0.0 hang lock 3 sdk@v1.1.0 stall NO: want hang lock, pass"},
		{"report is wrong", []zoo.Row{failed}, []zoo.Row{pass}, true, "b sdk@v1.0.0 hang lock 3 sdk@v1.1.0 pass NO: want hang lock, pass"},
		{"fixed ended early", []zoo.Row{hang}, nil, true, "b sdk@v1.0.0 hang lock 3 - - NO: want hang lock, -"},
		{"buggy ended early", nil, []zoo.Row{pass}, true, "b - - - sdk@v1.1.0 pass NO: want -, pass"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var text strings.Builder
			for _, l := range join(c.buggy, c.fixed, c.two) {
				l.print(&text)
			}
			if got := strings.Join(strings.Fields(text.String()), " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestFixes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fixed.txt")
	for text, want := range map[string]string{
		"# why\n\nexample.org/sdk\na/fix.patch\nb/fix.patch\n": "example.org/sdk [a/fix.patch b/fix.patch]",
		"example.org/sdk\n": "no patch",
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		sdk, patches, err := readFixes(path)
		got := fmt.Sprint(sdk, " ", patches)
		if err != nil {
			got = "no patch"
		}
		if got != want {
			t.Errorf("fixed.txt %q gives %s (%v), want %s", text, got, err, want)
		}
	}
}
