package recorder

import (
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/store/storetest"
	"github.com/mcprec/mcprec/transport"
)

// TestClockSteps sets the wall clock back and forth in the middle of a session:
// the times of its events neither fall nor jump. A time has its wall clock's
// seconds in the upper bits of its first word; the monotonic clock is elsewhere.
func TestClockSteps(t *testing.T) {
	s := memstore.New()
	r, err := New(t.Context(), s, store.Header{})
	if err != nil {
		t.Fatal(err)
	}
	tap := r.Tap(transport.ClientToServer)
	wall := (*uint64)(unsafe.Pointer(&r.log.start))
	for _, step := range []uint64{0, 3600, 86400} {
		before := r.log.start.Unix()
		*wall += step << 30
		if r.log.start.Unix() != before+int64(step) {
			t.Fatal("the wall clock was not moved")
		}
		tap.Observe([]byte("{}\n"))
	}
	r.Close()
	var last time.Duration
	n := 0
	for e, err := range s.Read(t.Context(), r.ID(), 0, store.ReadOptions{}) {
		if n++; err != nil || e.At < last || e.At > time.Hour {
			t.Errorf("event %d at %v, after %v: %v", e.Seq, e.At, last, err)
		}
		last = e.At
	}
	if n != 5 {
		t.Errorf("%d events", n)
	}
	storetest.Tell(t, "the wall clock steps back an hour, a day", 2, "times neither fall nor jump: they are of the monotonic clock")
}

// TestClock: a session has the times of its clock alone.
func TestClock(t *testing.T) {
	s := memstore.New()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	start := now
	r, err := New(t.Context(), s, store.Header{}, Clock(func() time.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	r.Tap(transport.ClientToServer).Observe([]byte("{}\n"))
	now = now.Add(time.Hour)
	r.Close()
	var times []time.Duration
	for e, err := range s.Read(t.Context(), r.ID(), 0, store.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if header, err := store.ParseHeader(e.Payload); e.Kind == store.Opened && (err != nil || !header.Start.Equal(start)) {
			t.Errorf("the session starts at %v, %v; want %v", header.Start, err, start)
		}
		times = append(times, e.At)
	}
	if want := []time.Duration{0, time.Hour, 2 * time.Hour}; !slices.Equal(times, want) {
		t.Errorf("events at %v, want %v", times, want)
	}
}
