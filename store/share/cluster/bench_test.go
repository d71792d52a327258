package cluster

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/share/push"
)

// BenchmarkArrival measures how long an event of a live session takes, from its writing on one machine until a
// follower of the pulled folder has it on another, over three nodes.
func BenchmarkArrival(b *testing.B) {
	c := Start(b, Options{Nodes: 3})
	url := c.DirectURL(name, "")
	openStream(b, url)
	pulled := startPull(b, url)
	p := startPush(b, b.TempDir(), url, push.Options{})
	r := record(b, p.db)
	arrived(b, pulled, r)
	seen := make(chan time.Time, 1)
	go func() {
		for event, err := range pulled.Read(b.Context(), r.id, 2, store.ReadOptions{Follow: true}) {
			if err != nil || event.Kind == store.Closed {
				return
			}
			seen <- time.Now()
		}
	}()
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		r.writeFrames(b, 1, 2000)
		took = append(took, (<-seen).Sub(began))
	}
	r.end(b)
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "ms-median")
	b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "ms-most")
}

// BenchmarkShip measures how many events a second a push ships of sessions that have ended, eight at a time, without
// masks, over three nodes.
func BenchmarkShip(b *testing.B) {
	const sessions, events = 8, 5000
	c := Start(b, Options{Nodes: 3})
	url := c.DirectURL(name, "")
	openStream(b, url)
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		db := openFolder(b, dir)
		for range sessions {
			r := record(b, db)
			r.writeFrames(b, events, 2000)
			r.end(b)
		}
		b.StartTimer()
		p := startPush(b, dir, url, push.Options{})
		wait(b, "all is shipped", func() error {
			list, err := push.Look(b.Context(), db, p.name)
			for _, x := range list {
				if x.State != "held" {
					return errors.New("not yet")
				}
			}
			return err
		})
		b.StopTimer()
		p.stop()
		b.StartTimer()
	}
	b.ReportMetric(float64(sessions*events*b.N)/b.Elapsed().Seconds(), "events/s")
}
