//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// toolCalls writes a session of n frames, half of them calls, 325 bytes a line.
func toolCalls(b *testing.B, n int) string {
	b.Helper()
	name := filepath.Join(b.TempDir(), "calls.jsonl")
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprintln(w, `{"mcprec":1,"id":"0190aaaa-0000-7000-8000-0000000000ff","start":"2026-01-01T00:00:00Z","transport":"stdio","label":"","command":["x"]}`)
	asks, says := strings.Repeat("lorem ipsum ", 6), strings.Repeat("dolor sit amet ", 16)
	for i := range n / 2 {
		fmt.Fprintf(w, `{"seq":%d,"at":"%dus","dir":"c2s","frame":{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool%d","arguments":{"path":"/src/file%d.go","line":%d,"text":"%s"}}}}`+"\n",
			2*i+2, 20*i, i, i%7, i, i%1000, asks)
		fmt.Fprintf(w, `{"seq":%d,"at":"%dus","dir":"s2c","frame":{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}],"isError":false}}}`+"\n",
			2*i+3, 20*i+7, i, says)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return name
}

// timed runs a command and returns how long it took and the most memory it had, in
// bytes.
func timed(b *testing.B, args ...string) (time.Duration, float64) {
	b.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %v\n%.500s", args, err, out)
	}
	took := time.Since(start)
	rss := float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	if runtime.GOOS != "darwin" { // which counts bytes
		rss *= 1024
	}
	return took, rss
}

// BenchmarkCheck sets mcprec check of a session in the store beside jq and wc over
// its text, taking turns in one run: 100,000 frames, a million with MCPREC_SOAK. The
// ratios are times of theirs over ours (higher is better).
func BenchmarkCheck(b *testing.B) {
	n := 100_000
	if os.Getenv("MCPREC_SOAK") != "" {
		n = 1_000_000
	}
	b.Setenv("MCPREC_HOME", b.TempDir())
	text := toolCalls(b, n)
	timed(b, "mcprec", "import", text)
	_, noJQ := exec.LookPath("jq")
	var jq, wc [2][]time.Duration
	var most float64
	for b.Loop() {
		took, rss := timed(b, "mcprec", "check")
		most = max(most, rss)
		counted, _ := timed(b, "wc", "-l", text)
		wc[0], wc[1] = append(wc[0], took), append(wc[1], counted)
		if noJQ == nil {
			parsed, _ := timed(b, "sh", "-c", `jq -c . "$0" >/dev/null`, text)
			jq[0], jq[1] = append(jq[0], took), append(jq[1], parsed)
		}
	}
	b.ReportMetric(most/(1<<20), "MiB")
	b.ReportMetric(ratio(wc), "speed/wc")
	if noJQ == nil {
		b.ReportMetric(ratio(jq), "speed/jq")
	}
}
