//go:build unix

package gosdk_test

import (
	"context"
	"runtime/debug"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
)

// BenchmarkExplore compares explored schedules of two calls at once with the same
// session run without a gate, turn by turn in one process and with the collector
// as the search sets it. Processor time counts: other programs hardly change it.
func BenchmarkExplore(b *testing.B) {
	const turn = 50
	ok := testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "pair", F: func(t *testing.T) {
		defer debug.SetGCPercent(debug.SetGCPercent(800))
		var gated, bare time.Duration
		turns := (b.N + turn - 1) / turn
		for i := range turns {
			start := processTime()
			explore.Explore(t, explore.Plan{Setup: twoCalls(handshake), Schedules: turn, Seed: uint64(i), Capacities: []explore.Capacity{{}}})
			middle := processTime()
			for range turn {
				synctest.Test(t, bareCalls)
			}
			gated, bare = gated+middle-start, bare+processTime()-middle
		}
		b.ReportMetric(float64(turn*turns)/gated.Seconds(), "schedules/s")
		b.ReportMetric(bare.Seconds()/gated.Seconds(), "of-ungated")
	}}})
	if !ok {
		b.Fatal("the benchmark's test failed")
	}
}

// bareCalls is the session of twoCalls over a pipe.
func bareCalls(t *testing.T) {
	client := newClient(&mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {},
	})
	c, s := pair(t, transport.NewPipe(0, 0, nil), newServer(), client, handshake)
	listed := make(chan error, 1)
	go func() { listed <- listTools(t.Context(), c) }()
	if err := callCount(t.Context(), c); err != nil {
		t.Error(err)
	}
	if err := <-listed; err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
}

// processTime is the processor time that the process has used so far.
func processTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
