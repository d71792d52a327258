package jetstream

import (
	"context"
	"errors"
	"strings"
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
