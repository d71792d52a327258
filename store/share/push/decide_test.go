package push

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/share/stream"
)

func TestBatchSize(t *testing.T) {
	for _, c := range []struct {
		size  batchSize
		bytes int
		takes bool
		full  bool
	}{
		{batchSize{}, 10, true, false},
		{batchSize{}, 64 << 20, true, false},
		{batchSize{1, 10}, 64 << 20, false, false},
		{batchSize{1, 10}, batchBytes - 10, true, false},
		{batchSize{1, 10}, batchBytes - 9, false, false},
		{batchSize{batchEvents - 1, 10}, 10, true, false},
		{batchSize{batchEvents, 10}, 0, false, true},
		{batchSize{1, batchBytes}, 0, false, true},
		{batchSize{1, 64 << 20}, 0, false, true},
	} {
		if takes := c.size.takes(c.bytes); takes != c.takes {
			t.Errorf("%+v takes %d bytes: %v", c.size, c.bytes, takes)
		}
		if full := c.size.full(); full != c.full {
			t.Errorf("%+v is full: %v", c.size, full)
		}
	}
}

func TestPauseAfter(t *testing.T) {
	for _, c := range []struct {
		failures int
		random   float64
		want     time.Duration
	}{
		{0, 0, 100 * time.Millisecond},
		{1, 0, 100 * time.Millisecond},
		{1, 1, 50 * time.Millisecond},
		{2, 0, 200 * time.Millisecond},
		{5, 0.5, 1200 * time.Millisecond},
		{7, 0, 6400 * time.Millisecond},
		{8, 0, 10 * time.Second},
		{9, 1, 5 * time.Second},
		{1 << 40, 0, 10 * time.Second},
	} {
		if got := pauseAfter(c.failures, c.random); got != c.want {
			t.Errorf("after %d failures, random %v: %v, want %v", c.failures, c.random, got, c.want)
		}
	}
}

func TestDecide(t *testing.T) {
	conflict := func(seq uint64) error {
		return fmt.Errorf("append: %w", &store.ConflictError{Head: store.Head{Seq: seq}})
	}
	for name, c := range map[string]struct {
		err              error
		after            uint64
		events, failures int
		want             action
	}{
		"network":               {io.ErrUnexpectedEOF, 7, 3, 1, actRetry},
		"network, often":        {io.ErrUnexpectedEOF, 7, 3, reopenAfter, actReopen},
		"network, later":        {io.ErrUnexpectedEOF, 7, 3, reopenAfter + 1, actRetry},
		"connection closed":     {store.ErrClosed, 7, 3, 1, actReopen},
		"its log is shorter":    {conflict(5), 7, 3, 1, actReread},
		"its log is empty":      {conflict(0), 7, 3, 1, actReread},
		"other events":          {conflict(7), 7, 3, 1, actStop},
		"other and more events": {conflict(9), 7, 3, 1, actStop},
		"newer":                 {store.ErrNewer, 7, 3, 1, actStop},
		"too large together":    {stream.ErrTooLarge, 7, 3, 1, actSplit},
		"too large":             {stream.ErrTooLarge, 7, 1, 1, actCut},
		"stream is gone":        {store.ErrNotFound, 7, 1, 1, actRetry},
		"local":                 {&localError{store.ErrCorrupt}, 7, 0, 1, actStop},
		"local store closed":    {&localError{store.ErrClosed}, 7, 0, 1, actStop},
	} {
		if got := decide(c.err, c.after, c.events, c.failures); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		event store.Event
		ok    bool
		left  int
		cut   uint64
	}{
		{store.Event{Kind: store.Frame, Payload: make([]byte, 100)}, true, 10, 90},
		{store.Event{Kind: store.Frame, Cut: 5, Payload: make([]byte, 100)}, true, 10, 95},
		{store.Event{Kind: store.Stderr, Payload: make([]byte, 11)}, true, 10, 1},
		{store.Event{Kind: store.Frame, Payload: make([]byte, 10)}, false, 10, 0},
		{store.Event{Kind: store.Opened, Payload: make([]byte, 100)}, false, 100, 0},
		{store.Event{Kind: store.HTTP, Payload: make([]byte, 100)}, false, 100, 0},
	} {
		got, ok := cut(c.event, 10)
		if ok != c.ok || len(got.Payload) != c.left || got.Cut != c.cut {
			t.Errorf("%s of %d bytes: %v, %d bytes, cut %d", c.event.Kind, len(c.event.Payload), ok, len(got.Payload), got.Cut)
		}
	}
}

func TestSameLog(t *testing.T) {
	head := func(seq uint64, chain byte) store.Head { return store.Head{Seq: seq, Chain: [32]byte{chain}} }
	for name, c := range map[string]struct {
		head, ours, acknowledged store.Head
		want                     bool
	}{
		"equal":                         {head(5, 1), head(5, 1), store.Head{}, true},
		"another":                       {head(5, 1), head(5, 2), store.Head{}, false},
		"masked by older rules":         {head(5, 1), head(5, 2), head(5, 1), true},
		"masked by older rules, longer": {head(5, 1), head(5, 2), head(4, 3), false},
	} {
		if got := sameLog(c.head, c.ours, c.acknowledged); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestDue(t *testing.T) {
	const hold = 5 * time.Minute
	whole := headState{Seq: 9}
	for name, c := range map[string]struct {
		state   state
		elapsed time.Duration
		want    due
		left    time.Duration
	}{
		"unknown":               {state{}, time.Hour, toShip, 0},
		"begun":                 {state{Head: headState{Seq: 5}}, time.Hour, toShip, 0},
		"complete":              {state{Head: whole, Complete: true}, 0, toHold, hold},
		"for a while":           {state{Head: whole, Complete: true}, 4 * time.Minute, toHold, time.Minute},
		"for the time":          {state{Head: whole, Complete: true}, hold, toLook, 0},
		"done":                  {state{Head: whole, Complete: true, Done: true}, 0, isDone, 0},
		"done, and grown since": {state{Head: headState{Seq: 8}, Complete: true, Done: true}, time.Hour, toShip, 0},
		"longer there":          {state{Head: headState{Seq: 12}, Complete: true, Done: true}, 0, isDone, 0},
		"stopped":               {state{Stopped: "conflict"}, time.Hour, isRefused, 0},
	} {
		if what, left := c.state.due(9, c.elapsed, hold); what != c.want || left != c.left {
			t.Errorf("%s: %s, %v left; want %s, %v", name, what, left, c.want, c.left)
		}
	}
}

// TestElapsed holds that no clock that jumps ends the hold-back early where the uptime is known.
func TestElapsed(t *testing.T) {
	then := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		boot   string // at the acknowledgement, with an uptime of an hour
		at     clock
		want   time.Duration
		refuse bool
	}{
		"clock only":                {"", clock{now: then.Add(3 * time.Minute)}, 3 * time.Minute, false},
		"clock set back":            {"", clock{now: then.Add(-time.Hour)}, 0, true},
		"same run":                  {"a", clock{then.Add(3 * time.Minute), "a", time.Hour + 3*time.Minute}, 3 * time.Minute, false},
		"same run, clock ahead":     {"a", clock{then.Add(3 * time.Hour), "a", time.Hour + 3*time.Second}, 3 * time.Second, false},
		"same run, clock set back":  {"a", clock{then.Add(-time.Hour), "a", time.Hour + 7*time.Minute}, 7 * time.Minute, false},
		"same run, uptime falls":    {"a", clock{then.Add(time.Hour), "a", time.Minute}, 0, false},
		"started again":             {"a", clock{then.Add(time.Hour), "b", 2 * time.Minute}, 2 * time.Minute, false},
		"uptime was not known then": {"", clock{then.Add(time.Minute), "b", time.Hour}, time.Minute, false},
		"uptime is not known now":   {"a", clock{now: then.Add(time.Minute)}, time.Minute, false},
	} {
		s := state{Acknowledged: then, Boot: c.boot, Uptime: time.Hour}
		if got, ok := s.elapsed(c.at); got != c.want || ok == c.refuse {
			t.Errorf("%s: %v, %v; want %v", name, got, ok, c.want)
		}
	}
}

func TestState(t *testing.T) {
	s := state{Version: stateVersion, Cut: map[uint64]int{7: 5}, Stopped: "why"}
	s.acknowledge(store.Head{Seq: 9, At: 5, Chain: [32]byte{1, 2, 255}, Sealed: true}, clock{time.Unix(5, 0).UTC(), "boot", time.Hour})
	s.Complete = true
	data := s.encode()
	again := parseState(data)
	if got := string(again.encode()); got != string(data) {
		t.Errorf("read back\n got %s\nwant %s", got, data)
	}
	if head := again.Head.head(); head != s.Head.head() || head.Chain[2] != 255 {
		t.Errorf("head %+v", head)
	}
	for _, bad := range []string{"", "{", `{"version":2,"complete":true}`, `{"version":1,"complete":true,"head":{"chain":"00"}}`, string(data[:len(data)/2])} {
		if got := parseState([]byte(bad)); got.Complete || got.Version != stateVersion {
			t.Errorf("state %q is read as %+v", bad, got)
		}
	}
}

func TestStoppedError(t *testing.T) {
	for _, c := range []struct {
		cause error
		want  string
	}{
		{&store.ConflictError{Head: store.Head{Seq: 4}}, "session x is not shipped: the stream has another recording under this id, which ends at event 4"},
		{&localError{errors.New("make the mask: bad rule")}, "session x is not shipped: make the mask: bad rule"},
	} {
		if got := (&StoppedError{"x", c.cause}).Error(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
