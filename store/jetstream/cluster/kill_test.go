package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

// stream is the stream of chunks in these tests.
const stream = "MCPREC"

// killNodes kills nodes with SIGKILL, two times of three the leader of the chunks, and starts them
// again. It waits for passed, which tells how much has been stored so far, to grow between two kills.
func killNodes(t *testing.T, c *Cluster, kills int, stored func() int64) {
	t.Helper()
	grows := func() {
		t.Helper()
		before := stored()
		wait(t, "events are stored again", func() error {
			if stored() == before {
				return errors.New("none")
			}
			return nil
		})
	}
	for k := range kills {
		grows()
		victim := c.Nodes[rand.IntN(len(c.Nodes))]
		if k%3 != 2 {
			victim = c.Leader(stream)
		}
		victim.Kill()
		if k%2 == 0 {
			grows() // the others go on without it
		}
		victim.Start()
		if k%3 == 1 {
			c.WaitCurrent(stream)
		}
	}
	grows()
	c.WaitCurrent(stream)
}

// TestKilledNodesClaims kills nodes under writers that hold claims and repeat what failed, and holds
// that the store has each event once.
func TestKilledNodesClaims(t *testing.T) {
	t.Parallel()
	kills := 3
	if night {
		kills = 15
	}
	c := Start(t, Options{Nodes: 3})
	shared := openStore(t, c.URL(stream, ""))
	var stored atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	writing := make([]*claimWriter, 6)
	for i := range writing {
		w := &claimWriter{recording: newRecording(t), stored: &stored}
		writing[i] = w
		writers.Go(func() { w.run(ctx, t, shared) })
	}
	killNodes(t, c, kills, stored.Load)
	stop()
	writers.Wait()
	if t.Failed() {
		return
	}
	reader := openStore(t, c.DirectURL(stream, ""))
	events, retries := 0, 0
	for _, w := range writing {
		compare(t, reader, w.recording)
		events += len(w.events)
		retries += w.retries
	}
	t.Logf("%d kills: %d events of %d writers, %d appends repeated", kills, events, len(writing), retries)
	tell(t, "SIGKILL of a node of three under claims", kills, "each acknowledged event is there once, in order")
}

// claimWriter appends events through a claim, and repeats what fails.
type claimWriter struct {
	*recording
	retries int
	stored  *atomic.Int64
}

// run appends until ctx ends. The last append goes on until it succeeds.
func (w *claimWriter) run(ctx context.Context, t *testing.T, shared store.Claimer) {
	var claim store.Claim
	wait(t, "the session is claimed", func() (err error) {
		claim, err = shared.Claim(t.Context(), w.id)
		return err
	})
	after := uint64(0)
	for ctx.Err() == nil {
		for range 1 + w.random.IntN(20) {
			w.events = append(w.events, w.frame(500+w.random.IntN(3000)))
		}
		for began := time.Now(); ; w.retries++ {
			head, err := claim.Append(t.Context(), after, w.events[after:])
			if err == nil && head.Seq == w.seq() {
				break
			}
			conflict := (*store.ConflictError)(nil)
			if err == nil || errors.Is(err, store.ErrLive) || errors.As(err, &conflict) || time.Since(began) > patience {
				t.Errorf("session %s: append after %d: head %d, %v", w.id, after, head.Seq, err)
				return
			}
		}
		w.stored.Add(1)
		after = w.seq()
	}
	if err := claim.Release(t.Context()); err != nil {
		t.Errorf("session %s: %v", w.id, err)
	}
}
