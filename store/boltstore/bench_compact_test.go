package boltstore

import (
	"runtime"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

// BenchmarkMillion says what it takes to open, list, prune and compact a store with a
// million events in a thousand sessions: milliseconds, the share of the file that is left
// when nine of ten sessions went, and how much memory was held at most.
func BenchmarkMillion(b *testing.B) {
	const sessions, events = 1000, 1000
	for b.Loop() {
		b.StopTimer()
		made, _ := filled(b, sessions, events, 300)
		_ = made.Close()
		runtime.GC()
		b.StartTimer()
		start := time.Now()
		lap := func(name string) {
			b.ReportMetric(float64(time.Since(start).Microseconds())/1000, name)
			start = time.Now()
		}
		s := testStore(b, made.dir)
		if head, err := s.Head(b.Context(), testID(sessions)); err != nil || head.Seq != events {
			b.Fatal(head, err)
		}
		lap("open-ms")
		for _, err := range s.Sessions(b.Context(), store.Query{Newest: true}) {
			if err != nil {
				b.Fatal(err)
			}
		}
		lap("list-ms")
		held := watchHeap()
		var ids []store.SessionID
		for n := range sessions * 9 / 10 {
			ids = append(ids, testID(n+1))
		}
		if err := s.DeleteAll(b.Context(), ids, func(store.SessionID) {}); err != nil {
			b.Fatal(err)
		}
		lap("prune-ms")
		before, after := mustCompact(b, s)
		lap("compact-ms")
		b.ReportMetric(float64(held())/(1<<20), "held-MiB")
		b.ReportMetric(float64(before)/(1<<20), "before-MiB")
		b.ReportMetric(float64(after)/float64(before), "left")
	}
}

// watchHeap returns a function that ends the watching and says how much more was held, at
// most, than when it began.
func watchHeap() (held func() uint64) {
	stop, most := make(chan struct{}), make(chan uint64)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	from := m.HeapInuse
	go func() {
		var max uint64
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				if m.HeapInuse > from+max {
					max = m.HeapInuse - from
				}
			case <-stop:
				tick.Stop()
				most <- max
				return
			}
		}
	}()
	return func() uint64 { close(stop); return <-most }
}
