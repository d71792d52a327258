package picture_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/picture"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// indexOf indexes calls that are asked every step and answered after a time that answer gives; 0: never.
func indexOf(t *testing.T, calls int, step time.Duration, answer func(n int) time.Duration) *picture.Index {
	t.Helper()
	type event struct {
		at   time.Duration
		dir  transport.Direction
		text string
	}
	var events []event
	for n := range calls {
		at := time.Duration(n) * step
		events = append(events, event{at, transport.ClientToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}`, n+1)})
		if wait := answer(n); wait > 0 {
			events = append(events, event{at + wait, transport.ServerToClient, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, n+1)})
		}
	}
	for i := 1; i < len(events); i++ { // in the order of time
		for k := i; k > 0 && events[k].at < events[k-1].at; k-- {
			events[k], events[k-1] = events[k-1], events[k]
		}
	}
	x := picture.NewIndex()
	sequence := func(yield func(store.Event, error) bool) {
		header := store.Header{ID: "01a20000-0000-7000-8000-000000000001", Start: time.Unix(0, 0), Transport: "stdio"}
		if !yield(store.Event{Seq: 1, Kind: store.Opened, Payload: header.Encode()}, nil) {
			return
		}
		for i, e := range events {
			if !yield(store.Event{Seq: uint64(i) + 2, At: e.at, Kind: store.Frame, Dir: e.dir, Payload: []byte(e.text)}, nil) {
				return
			}
		}
	}
	for step, err := range timeline.Steps(sequence) {
		if err == nil {
			err = x.Take(step)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// near reports whether a time is right to half a percent of a pause.
func near(got, want, pause time.Duration) bool {
	return (got - want).Abs() <= pause/200
}

// TestWaterfall: calls stand to the scale of time, the open ones and the longest before the others, and
// those that overlap in different lanes.
func TestWaterfall(t *testing.T) {
	const step = 10 * time.Millisecond
	x := indexOf(t, 1000, step, func(n int) time.Duration {
		switch n {
		case 500:
			return 0 // never answered
		case 700:
			return 2 * time.Second
		}
		return time.Millisecond
	})
	w := x.Waterfall(3, 10)
	if len(w.Bars) != 3 || w.Left != 997 {
		t.Fatalf("%d bars, %d left: %+v", len(w.Bars), w.Left, w.Bars)
	}
	var open, long picture.Bar
	for _, bar := range w.Bars {
		switch {
		case bar.End == 0:
			open = bar
		case bar.Until-bar.At > time.Second:
			long = bar
		}
	}
	if !near(open.At, 500*step, 32*step) || open.How != "open" || open.Until != 0 {
		t.Errorf("the open call is %+v", open)
	}
	if !near(long.At, 700*step, 32*step) || !near(long.Until, 700*step+2*time.Second, 32*step) || long.How != "answered" {
		t.Errorf("the long call is %+v", long)
	}
	if open.Lane == long.Lane {
		t.Errorf("two calls that overlap stand in lane %d", open.Lane)
	}
	asked, answered := 0, 0
	for n := range w.C2S {
		asked += w.C2S[n]
		answered += w.S2C[n]
		if w.C2S[n] < 90 || w.C2S[n] > 110 {
			t.Errorf("part %d has %d requests of 1000 in 10 parts", n, w.C2S[n])
		}
	}
	if asked != 1000 || answered != 999 {
		t.Errorf("%d requests, %d answers", asked, answered)
	}
}

// TestOpenCallStandsAlone: a call without an end has a lane of its own, however many others there are meanwhile.
func TestOpenCallStandsAlone(t *testing.T) {
	x := indexOf(t, 100, 10*time.Millisecond, func(n int) time.Duration {
		if n == 50 {
			return 0 // never answered
		}
		return 200 * time.Millisecond
	})
	bars := x.Waterfall(100, 10).Bars
	n := slices.IndexFunc(bars, func(bar picture.Bar) bool { return bar.End == 0 })
	open := bars[n]
	for _, bar := range slices.Delete(bars, n, n+1) {
		if bar.Lane == open.Lane && bar.Until > open.At {
			t.Errorf("%+v stands over the open %+v", bar, open)
		}
	}
}

// TestSeqAt: a time leads to the first event that is not before it.
func TestSeqAt(t *testing.T) {
	x := indexOf(t, 300, time.Second, func(int) time.Duration { return 0 })
	for _, n := range []int{0, 1, 31, 32, 33, 200, 299} {
		if got := x.SeqAt(time.Duration(n)*time.Second - 400*time.Millisecond); n > 0 && got != uint64(n)+2 {
			t.Errorf("at %d s stands event %d, want %d", n, got, n+2)
		}
		if at := x.Time(uint64(n) + 2); !near(at, time.Duration(n)*time.Second, 32*time.Second) {
			t.Errorf("event %d stands at %v", n+2, at)
		}
	}
	if got := x.SeqAt(time.Hour); got != x.Len() {
		t.Errorf("behind the end stands event %d", got)
	}
	if x.Time(0) != 0 || x.Time(x.Len()+1) != 0 {
		t.Error("an event that is not there has a time")
	}
}
