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
	if full := (procfs.Look{Activity: procfs.Full, Timer: time.Second}); !Confirming.IsWorthIt(full, 0) {
		t.Error("a server that nobody reads may give up when its timer runs out")
	}
	if full := (procfs.Look{Activity: procfs.Full, Timer: -1}); Confirming.IsWorthIt(full, 0) {
		t.Error("a server that nobody reads waits for ever without a timer")
	}
}
