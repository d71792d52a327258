//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// wrapped starts the echo server behind a wrapper and returns its streams and a
// function that ends it.
func wrapped(b *testing.B, wrapper []string, server ...string) (io.Writer, *bufio.Reader, func()) {
	b.Helper()
	args := append(slices.Clone(wrapper), server...)
	cmd := exec.Command(args[0], args[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	r := bufio.NewReaderSize(out, 1<<20)
	return in, r, func() {
		in.Close()
		io.Copy(io.Discard, r)
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	}
}

// pingTimes returns the median round trip of n pings of 200 bytes.
func pingTimes(b *testing.B, wrapper []string, n int) time.Duration {
	in, out, end := wrapped(b, wrapper, "fakeserver", "echo")
	defer end()
	request := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"pad":"%s"}}`+"\n", strings.Repeat("x", 130))
	times := make([]time.Duration, 0, n)
	for range n {
		start := time.Now()
		io.WriteString(in, request)
		if _, err := out.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	return times[n/2]
}

// floodTime returns how long n notifications take to come through.
func floodTime(b *testing.B, wrapper []string, n int) time.Duration {
	_, out, end := wrapped(b, wrapper, "fakeserver", "flood", fmt.Sprint(n))
	defer end()
	start := time.Now()
	for range n {
		if _, err := out.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

// startTime returns the time from the start of the wrapper to the first answer.
func startTime(b *testing.B, wrapper []string) time.Duration {
	start := time.Now()
	in, out, end := wrapped(b, wrapper, "fakeserver", "echo")
	defer end()
	io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	if _, err := out.ReadSlice('\n'); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// BenchmarkRecord sets mcprec record beside the floors, taking turns in one run.
// The metrics are ratios of medians: ping and start over a bare pass-through
// (lower is better), flood over a pass-through that writes (higher is better).
func BenchmarkRecord(b *testing.B) {
	b.Setenv("FLOOR_DIR", b.TempDir())
	record := []string{"mcprec", "record", "--store", b.TempDir(), "--"}
	pass, write := []string{"floorpass"}, []string{"floorwrite"}
	var pings, floods, starts [2][]time.Duration
	for b.Loop() {
		pings[0] = append(pings[0], pingTimes(b, pass, 2000))
		pings[1] = append(pings[1], pingTimes(b, record, 2000))
		floods[0] = append(floods[0], floodTime(b, write, 200_000))
		floods[1] = append(floods[1], floodTime(b, record, 200_000))
		starts[0] = append(starts[0], startTime(b, pass))
		starts[1] = append(starts[1], startTime(b, record))
	}
	b.ReportMetric(ratio(pings), "ping/pass")
	b.ReportMetric(1/ratio(floods), "flood-speed/write")
	b.ReportMetric(float64((median(starts[1])-median(starts[0])).Microseconds())/1000, "ms-later-start")
}

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
// its text, taking turns in one run: 100,000 frames, a million with MCPREC_NIGHT. The
// ratios are times of theirs over ours (higher is better).
func BenchmarkCheck(b *testing.B) {
	n := 100_000
	if os.Getenv("MCPREC_NIGHT") != "" {
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

// BenchmarkDiff sets mcprec diff of a session and the same under other ids, with one call
// changed, beside mcprec check of one of them, taking turns in one run: 100,000 frames, a
// million with MCPREC_NIGHT. The ratio is check's time over ours: 0.5 is as fast, for there
// are two to read.
func BenchmarkDiff(b *testing.B) {
	n := 100_000
	if os.Getenv("MCPREC_NIGHT") != "" {
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

// pingPong is a session of n equal requests, which the method alone tells apart
// from others.
func pingPong(b *testing.B, n int) string {
	b.Helper()
	var text bytes.Buffer
	text.WriteString(`{"mcprec":1,"transport":"stdio"}` + "\n")
	for i := range n {
		fmt.Fprintf(&text, `{"dir":"c2s","frame":{"jsonrpc":"2.0","id":%d,"method":"resources/list"}}`+"\n", i)
		fmt.Fprintf(&text, `{"dir":"s2c","frame":{"jsonrpc":"2.0","id":%d,"result":{}}}`+"\n", i)
	}
	name := filepath.Join(b.TempDir(), "pingpong.jsonl")
	if err := os.WriteFile(name, text.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	return name
}

// callTime returns how long n calls take, one after another, when the server is up.
func callTime(b *testing.B, n int, server ...string) time.Duration {
	in, out, end := wrapped(b, nil, server...)
	defer end()
	call := func(i int) {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":"live-%d","method":"resources/list"}`+"\n", i)
		answer, err := out.ReadSlice('\n')
		if want := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"live-%d","result":{}}`+"\n", i); err != nil || !bytes.Equal(answer, want) {
			b.Fatalf("%s, %v", answer, err)
		}
	}
	call(0)
	start := time.Now()
	for i := 1; i < n; i++ {
		call(i)
	}
	return time.Since(start)
}

// fillTime returns how long it takes from the start of serve to its first answer.
func fillTime(b *testing.B, session string) time.Duration {
	start := time.Now()
	in, out, end := wrapped(b, nil, "mcprec", "serve", session)
	defer end()
	io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`+"\n")
	if _, err := out.ReadSlice('\n'); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// BenchmarkServe sets mcprec serve beside an echo server, taking turns in one run:
// the rate of calls made one after another over the echo server's (higher is
// better). The time to the first answer is over that of a session of two frames.
func BenchmarkServe(b *testing.B) {
	const n = 20_000
	session, small, large := pingPong(b, n), pingPong(b, 1), pingPong(b, 50_000)
	var calls, fills [2][]time.Duration
	for b.Loop() {
		calls[0] = append(calls[0], callTime(b, n, "fakeserver", "echo"))
		calls[1] = append(calls[1], callTime(b, n, "mcprec", "serve", session))
		fills[0] = append(fills[0], fillTime(b, small))
		fills[1] = append(fills[1], fillTime(b, large))
	}
	b.ReportMetric(1/ratio(calls), "rate/echo")
	b.ReportMetric(float64((median(fills[1]) - median(fills[0])).Milliseconds()), "ms-to-load-100k-frames")
}

// BenchmarkState asks a session of 100,000 frames in the store, a million with
// MCPREC_NIGHT: list, show of a window, tail, and state at the ninths of the session, each
// a process, and check of it all, taking turns in one run.
// The times are the longest of a turn, in milliseconds, the middle of all turns.
func BenchmarkState(b *testing.B) {
	n := 100_000
	if os.Getenv("MCPREC_NIGHT") != "" {
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
		for _, name := range []string{"list", "show", "last", "state", "diff", "check"} {
			took[name] = append(took[name], 0)
		}
		longest("check", "check")
		longest("list", "list")
		longest("last", "show", "--last", "10")
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
