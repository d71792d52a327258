package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
)

// TestForeignSamples: what another recorder wrote is a session like any other. Its
// client drives its server, it replays, its events are judged, it is exported in every
// form, and as a fixture it is imported as the same session.
func TestForeignSamples(t *testing.T) {
	samples, err := filepath.Glob(filepath.Join("..", "..", "store", "foreign", "testdata", "samples", "*"))
	if err != nil || len(samples) == 0 {
		t.Fatal(len(samples), err)
	}
	for _, path := range samples {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Setenv("MCPREC_HOME", t.TempDir())
			if got := outputOf(t, "drive", path, "--", "mcprec", "serve", path); !strings.Contains(got, " match") {
				t.Errorf("drive says %s", got)
			}
			if got := outputOf(t, "replay", path); !strings.HasPrefix(got, "PASS") {
				t.Errorf("replay says %s", got)
			}
			outputOf(t, "state", path)
			id := strings.TrimSpace(outputOf(t, "import", path))
			shown := outputOf(t, "show", id)
			fixture := filepath.Join(t.TempDir(), "exported.jsonl")
			outputOf(t, "export", "--secrets", "-o", fixture, id)
			if again := strings.TrimSpace(outputOf(t, "import", fixture)); again != id || outputOf(t, "show", fixture) != shown {
				t.Errorf("exported and imported session %s becomes %s", id, again)
			}
			for _, f := range exportFormats {
				if f.name != "raw" {
					outputOf(t, "export", "--format", f.name, id)
				}
			}
		})
	}
}

// outputOf runs mcprec, which must succeed.
func outputOf(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := inProcess(t, nil, args...)
	if code != cli.ExitFine {
		t.Errorf("mcprec %s: exit status %d\n%s", strings.Join(args, " "), code, errs)
	}
	return string(out)
}
