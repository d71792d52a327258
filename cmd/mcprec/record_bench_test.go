//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
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
