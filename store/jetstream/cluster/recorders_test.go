package cluster

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store/outbox"
)

// TestKilledNodes kills nodes under six recorders, each with an outbox of its own, and holds that the
// shared store has each event once. It reports how long the writes of the recorders took, before
// and during the kills.
func TestKilledNodes(t *testing.T) {
	t.Parallel()
	kills := 3
	if night {
		kills = 15
	}
	c := Start(t, Options{Nodes: 3})
	var acked []*outbox.Outbox
	var recorded []*recording
	for range 6 {
		o := openOutbox(t, t.TempDir(), c.URL(stream, ""), outbox.Options{})
		acked = append(acked, o)
		recorded = append(recorded, record(t, o))
	}
	stored := func() (sum int64) {
		for _, o := range acked {
			sum += int64(o.Stats().EventsAcknowledged)
		}
		return sum
	}
	run := func(during func()) {
		ctx, stop := context.WithCancel(t.Context())
		var recorders sync.WaitGroup
		for _, r := range recorded {
			recorders.Go(func() {
				for ctx.Err() == nil {
					if err := r.write(r.frame(500 + r.random.IntN(3000))); err != nil {
						t.Errorf("session %s: %v", r.id, err)
						return
					}
					time.Sleep(5 * time.Millisecond) // a busy session, and no race of the disk
				}
			})
		}
		during()
		stop()
		recorders.Wait()
	}
	run(func() {
		wait(t, "the recorders have written for a while", func() error {
			if stored() < 1500 {
				return errors.New("not for long enough")
			}
			return nil
		})
	})
	calm := durations(recorded)
	for _, r := range recorded {
		r.took = nil
	}
	run(func() { killNodes(t, c, kills, stored) })
	storm := durations(recorded)
	events := 0
	for _, r := range recorded {
		r.end(t)
		events += len(r.events)
	}
	reader := openStore(t, c.DirectURL(stream, ""))
	arrived(t, reader, recorded...)
	compare(t, reader, recorded...)
	var retries uint64
	for _, o := range acked {
		retries += o.Stats().Retries
	}
	t.Logf("%d kills: %d events of %d recorders, %d calls repeated; a write took %v before the kills, %v during them",
		kills, events, len(recorded), retries, calm, storm)
	tell(t, "SIGKILL of a node of three under six recorders", kills, "each event is there once, in order; no write waits")
}

// TestTwoNodesDown stops two nodes of three, and holds that a session goes on and that all of it is there
// when they are back.
func TestTwoNodesDown(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Nodes: 3})
	o := openOutbox(t, t.TempDir(), c.URL(stream, ""), outbox.Options{})
	r := record(t, o)
	r.writeFrames(t, 100, 2000)
	acknowledged(t, o)
	c.Nodes[0].Kill()
	c.Nodes[1].Kill()
	within(t, "recording without a majority of the nodes", func() { r.writeFrames(t, 1000, 2000) })
	wait(t, "the outbox says that nothing is taken", func() error {
		if stats := o.Stats(); stats.LastError == nil || stats.EventsWaiting == 0 {
			return errors.New("no error")
		}
		return nil
	})
	c.Nodes[0].Start()
	c.Nodes[1].Start()
	r.end(t)
	reader := openStore(t, c.DirectURL(stream, ""))
	arrived(t, reader, r)
	compare(t, reader, r)
	tell(t, "two nodes of three down for a while", 1, "no write waits; all arrives once when they are back")
}
