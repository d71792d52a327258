package main

import (
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/explore"
)

// TestProgressText: the time that is left is that of the schedules to come, or of the budget.
func TestProgressText(t *testing.T) {
	for want, test := range map[string]struct {
		progress explore.Progress
		budget   time.Duration
	}{
		"explore: 4200 of 100000 orders, 2100/s, 46s left":  {explore.Progress{Done: 4200, Total: 100_000, Elapsed: 2 * time.Second}, 0},
		"explore: 4200 of 100000 orders, 2100/s, 8s left":   {explore.Progress{Done: 4200, Total: 100_000, Elapsed: 2 * time.Second}, 10 * time.Second},
		"explore: 300 of 300 orders, 100/s, 0s left":        {explore.Progress{Done: 300, Total: 300, Elapsed: 3 * time.Second}, 0},
		"explore: 100 of 1000000 orders, 1/s, 2h45m0s left": {explore.Progress{Done: 100, Total: 1_000_000, Elapsed: 100 * time.Second}, 10_000 * time.Second},
		"explore: 0 of 5 orders, 0/s":                       {explore.Progress{Total: 5}, 0},
		"explore: 1 of 1152921504606846976 orders, 0/s":     {explore.Progress{Done: 1, Total: 1 << 60, Elapsed: time.Minute}, 0},
	} {
		if got := progressText(test.progress, test.budget); got != want+"; ^C ends it with a report" {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
