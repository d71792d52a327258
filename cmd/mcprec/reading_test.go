//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/store/mask/masktest"
)

// TestReading: what a command quotes of messages that it reads as they were recorded is what it quotes of masked
// ones, as it reads them where the user's own pointers may hide anything. Secrets stand in every text and in every
// object of the sessions.
func TestReading(t *testing.T) {
	t.Setenv("MCPREC_HOME", t.TempDir())
	if _, errs, code := inProcess(t, nil, "import", "../../fixtures/crossing.jsonl"); code != 0 { // the store has a key
		t.Fatalf("%s", errs)
	}
	var paths []string
	for _, pattern := range []string{"testdata/truth/*.jsonl", "../../fixtures/*.jsonl", "../../replay/standin/testdata/http/*.jsonl"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		paths = append(paths, found...)
	}
	lines := []string{
		"check --format json", "why --after 0s", "state --format json", "state --at 40%", "state --at 70% --format json",
		"replay --client answers-inline --server answers-inline --format json", "replay --client single-threaded --server single-threaded --buffer 0",
	}
	masked := 0
	batchBytes := regexp.MustCompile(`"re(?:quest|sponse)_bytes":\d+`) // masked messages of a batch are not as long as they were
	for i, path := range paths {
		events := decoded(t, path)
		for planting := i % soak(masktest.Plantings, 1); planting < masktest.Plantings; planting += soak(masktest.Plantings, 1) {
			planted := filepath.Join(t.TempDir(), filepath.Base(path))
			writeDoor(t, planted, masktest.Plant(events, planting))
			for _, line := range lines {
				args := append(strings.Fields(line), planted)
				got, errs, code := inProcess(t, nil, args...)
				want, _, wantCode := inProcess(t, nil, append(args, "--mask-pointer", "/no/such/member")...)
				if code > 1 {
					t.Fatalf("%s %s: exit status %d\n%s", line, path, code, errs)
				}
				got, want = batchBytes.ReplaceAll(got, nil), batchBytes.ReplaceAll(want, nil)
				masked += bytes.Count(got, []byte("[redacted:"))
				if !bytes.Equal(got, want) || code != wantCode {
					t.Errorf("%s %s, planting %d: of messages as they were recorded, exit status %d\n%s\nof masked ones, %d\n%s", line, path, planting, code, got, wantCode, want)
				}
			}
		}
	}
	if masked < 30 {
		t.Errorf("only %d secrets were masked in what was quoted", masked)
	}
}

// decoded returns the events of a fixture.
func decoded(t *testing.T, path string) []store.Event {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	events, err := session.Collect(jsonl.Decode(file))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return events
}
