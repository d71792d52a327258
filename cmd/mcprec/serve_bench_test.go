//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

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
