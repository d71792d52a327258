//go:build unix

package main

import (
	"os/exec"
	"testing"
	"time"
)

// BenchmarkState sets mcprec state at the end of a session of 100,000 frames in the
// store, which folds all of it, beside mcprec check of the session and jq over its text,
// taking turns in one run. The ratios are times of theirs over ours (higher is better).
func BenchmarkState(b *testing.B) {
	const n = 100_000
	b.Setenv("MCPREC_HOME", b.TempDir())
	text := toolCalls(b, n)
	timed(b, "mcprec", "import", text)
	_, noJQ := exec.LookPath("jq")
	var check, jq, start [2][]time.Duration
	for b.Loop() {
		took, _ := timed(b, "mcprec", "state")
		checked, _ := timed(b, "mcprec", "check")
		early, _ := timed(b, "mcprec", "state", "--at", "1000")
		check[0], check[1] = append(check[0], took), append(check[1], checked)
		start[0], start[1] = append(start[0], early), append(start[1], took)
		if noJQ == nil {
			parsed, _ := timed(b, "sh", "-c", `jq -c . "$0" >/dev/null`, text)
			jq[0], jq[1] = append(jq[0], took), append(jq[1], parsed)
		}
	}
	b.ReportMetric(ratio(check), "speed/check")
	b.ReportMetric(ratio(start), "end/1000")
	if noJQ == nil {
		b.ReportMetric(ratio(jq), "speed/jq")
	}
}
