package stream

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
)

// TestRetryLate holds that a call without an answer says so, and that a caller who gives up is told nothing
// about the servers.
func TestRetryLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noLeader := func(context.Context) error { return nats.ErrNoResponders }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := (&link{}).retry(ctx, noLeader)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "JetStream does not answer") {
			t.Errorf("no leader: %v", err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		if err := (&link{}).retry(ctx, noLeader); err != context.Canceled {
			t.Errorf("given up: %v", err)
		}
	})
}

// TestDialCancelled holds that dialling ends with its context while a server takes the connection and says
// nothing: no other server is tried then.
func TestDialCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var serving sync.WaitGroup
	defer serving.Wait()
	var tried atomic.Int32
	var servers []string
	for range 2 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		servers = append(servers, listener.Addr().String())
		serving.Go(func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				defer func() { _ = conn.Close() }()
				tried.Add(1)
				cancel()
			}
		})
	}
	if _, err := Open(ctx, Options{Servers: servers}); !errors.Is(err, context.Canceled) {
		t.Errorf("open says %v", err)
	}
	if got := tried.Load(); got != 1 {
		t.Errorf("%d servers were tried", got)
	}
}
