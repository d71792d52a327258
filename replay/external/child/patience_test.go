package child

import (
	"testing"
	"time"

	"github.com/mcprec/mcprec/transport/procfs"
)

// TestWorthIt holds how long a timer is waited for: V8's own longer than others.
func TestWorthIt(t *testing.T) {
	for _, row := range []struct {
		timer, waited time.Duration
		want          bool
	}{
		{V8Timer, 29 * time.Second, true}, {V8Timer, 74 * time.Second, true}, {V8Timer, 75 * time.Second, false}, {589 * time.Millisecond, 49 * time.Second, true},
		{8 * time.Second, 29 * time.Second, true}, {8 * time.Second, 31 * time.Second, false}, {time.Minute, 0, false},
	} {
		if got := Confirming.IsWorthIt(procfs.Look{Activity: procfs.Timed, Timer: row.timer}, row.waited); got != row.want {
			t.Errorf("a timer of %v after %v: %v", row.timer, row.waited, got)
		}
	}
	for _, timer := range []time.Duration{-1, time.Second} {
		full := procfs.Look{Activity: procfs.Full, Timer: timer}
		if got, want := Confirming.MayGiveUp(full, 0), timer >= 0; got != want || Confirming.IsWorthIt(full, 0) {
			t.Errorf("a process that nobody reads, with a timer of %v, may give up: %v, want %v", timer, got, want)
		}
	}
}
