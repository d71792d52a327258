//go:build unix

package main

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// BenchmarkState asks a session of 100,000 frames in the store, a million with
// MCPREC_SOAK, what checkpoints answer: list, show of a window, tail, and state at the
// ninths of the session, each a process, and check of it all, taking turns in one run.
// The times are the longest of a turn, in milliseconds, the middle of all turns.
func BenchmarkState(b *testing.B) {
	n := 100_000
	if os.Getenv("MCPREC_SOAK") != "" {
		n = 1_000_000
	}
	b.Setenv("MCPREC_HOME", b.TempDir())
	timed(b, "mcprec", "import", toolCalls(b, n))
	took := map[string][]time.Duration{}
	var most float64
	longest := func(name string, args ...string) {
		d, rss := timed(b, append([]string{"mcprec"}, args...)...)
		list := took[name]
		list[len(list)-1] = max(list[len(list)-1], d)
		if took[name] = list; name == "state" {
			most = max(most, rss)
		}
	}
	for b.Loop() {
		for _, name := range []string{"list", "show", "tail", "state", "diff", "check"} {
			took[name] = append(took[name], 0)
		}
		longest("check", "check")
		longest("list", "list")
		longest("tail", "tail")
		for i := 1; i <= 9; i++ {
			at := strconv.Itoa(n * i / 9)
			longest("show", "show", "--from", at, "-n", "20")
			longest("state", "state", "--at", at)
			longest("diff", "state", "--at", strconv.Itoa(n/2), "--diff", at)
		}
	}
	for name, list := range took {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)/2].Microseconds())/1000, name+"-ms")
	}
	b.ReportMetric(most/(1<<20), "state-MiB")
}
