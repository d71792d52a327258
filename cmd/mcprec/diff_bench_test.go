//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkDiff sets mcprec diff of a session and the same under other ids, with one call
// changed, beside mcprec check of one of them, taking turns in one run: 100,000 frames, a
// million with MCPREC_SOAK. The ratio is check's time over ours: 0.5 is as fast, for there
// are two to read.
func BenchmarkDiff(b *testing.B) {
	n := 100_000
	if os.Getenv("MCPREC_SOAK") != "" {
		n = 1_000_000
	}
	one := toolCalls(b, n)
	text, err := os.ReadFile(one)
	if err != nil {
		b.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte(`"id":`), []byte(`"id":7`))
	text = bytes.Replace(text, []byte("dolor"), []byte("DOLOR"), 1)
	text = bytes.Replace(text, []byte(`"id":7"`), []byte(`"id":"`), 1) // the header's
	other := filepath.Join(b.TempDir(), "other.jsonl")
	if err := os.WriteFile(other, text, 0o600); err != nil {
		b.Fatal(err)
	}
	var turns [2][]time.Duration
	var most float64
	for b.Loop() {
		took, rss := timed(b, "sh", "-c", `mcprec diff "$0" "$1" >/dev/null; test $? = 1`, one, other)
		most = max(most, rss)
		checked, _ := timed(b, "mcprec", "check", one)
		turns[0], turns[1] = append(turns[0], took), append(turns[1], checked)
	}
	b.ReportMetric(most/(1<<20), "MiB")
	b.ReportMetric(ratio(turns), "speed/check")
}
