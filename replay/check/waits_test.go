package check_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store/jsonl"
)

// TestWaits: the report on the waits is that of package why, after each event and as often as
// it is asked for.
func TestWaits(t *testing.T) {
	paths, err := filepath.Glob("../../fixtures/*.jsonl")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d fixtures, %v", len(paths), err)
	}
	for _, path := range paths {
		events, err := jsonl.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var waits why.Fold
		judge := check.New(check.Gate{}, func(check.Finding) {})
		for e, err := range timeline.Steps(jsonl.Each(events)) {
			if err = errors.Join(err, waits.Take(e), judge.Take(e)); err != nil {
				t.Fatal(err)
			}
			live := why.Live{Now: e.At + time.Minute}
			got, err := json.Marshal(judge.Waits(live, time.Second))
			if err != nil {
				t.Fatal(err)
			}
			if want, err := json.Marshal(waits.Report(live, time.Second)); err != nil || string(got) != string(want) {
				t.Fatalf("%s, event %d: %s, want %s, %v", path, e.Seq, got, want, err)
			}
		}
	}
}
