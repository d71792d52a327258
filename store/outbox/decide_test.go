package outbox

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
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
		regain           bool
		want             action
	}{
		"network":                    {io.ErrUnexpectedEOF, 7, 3, 1, false, actRetry},
		"network, often":             {io.ErrUnexpectedEOF, 7, 3, reopenAfter, false, actReopen},
		"network, later":             {io.ErrUnexpectedEOF, 7, 3, reopenAfter + 1, false, actRetry},
		"connection closed":          {store.ErrClosed, 7, 3, 1, false, actReopen},
		"shared log is shorter":      {conflict(5), 7, 3, 1, false, actReread},
		"shared log is empty":        {conflict(0), 7, 3, 1, false, actReread},
		"other events":               {conflict(7), 7, 3, 1, false, actStop},
		"other and more events":      {conflict(9), 7, 3, 1, false, actStop},
		"claimed":                    {store.ErrLive, 7, 3, 1, false, actStop},
		"claimed, perhaps by itself": {store.ErrLive, 0, 0, 1, true, actRetry},
		"deleted":                    {store.ErrExists, 7, 3, 1, false, actStop},
		"newer":                      {store.ErrNewer, 7, 3, 1, false, actStop},
		"too large together":         {store.ErrTooLarge, 7, 3, 1, false, actSplit},
		"too large":                  {store.ErrTooLarge, 7, 1, 1, false, actCut},
		"stream is gone":             {store.ErrNotFound, 7, 1, 1, false, actRetry},
		"local":                      {&localError{store.ErrCorrupt}, 7, 0, 1, false, actStop},
		"local store closed":         {&localError{store.ErrClosed}, 7, 0, 1, false, actStop},
	} {
		if got := decide(c.err, c.after, c.events, c.failures, c.regain); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestLasting(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&store.ConflictError{}, true}, {store.ErrExists, true}, {store.ErrLive, false}, {store.ErrNewer, false},
		{&localError{store.ErrCorrupt}, false}, {nil, false},
	} {
		if got := lasting(c.err); got != c.want {
			t.Errorf("%v: lasting %v", c.err, got)
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

func TestRoom(t *testing.T) {
	for _, c := range []struct {
		waiting int64
		full    bool
		want    bool
	}{
		{800, false, true}, {801, false, false}, {0, true, true}, {700, true, true}, {701, true, false}, {801, true, false},
	} {
		if got := room(c.waiting, 800, c.full); got != c.want {
			t.Errorf("%d of 800, full %v: %v", c.waiting, c.full, got)
		}
	}
}

func TestJudge(t *testing.T) {
	const hold = 5 * time.Minute
	for name, c := range map[string]struct {
		state   state
		elapsed time.Duration
		want    verdict
		left    time.Duration
	}{
		"unknown":          {state{}, time.Hour, toShip, 0},
		"begun":            {state{Head: headState{Seq: 9}}, time.Hour, toShip, 0},
		"complete":         {state{Complete: true}, 0, toHold, hold},
		"for a while":      {state{Complete: true}, 4 * time.Minute, toHold, time.Minute},
		"for the time":     {state{Complete: true}, hold, toLook, 0},
		"with a cut event": {state{Complete: true, Cut: map[uint64]int{3: 1}}, time.Hour, toKeep, 0},
		"cut, incomplete":  {state{Cut: map[uint64]int{3: 1}}, time.Hour, toShip, 0},
		"stopped":          {state{Stopped: "conflict"}, time.Hour, toKeep, 0},
	} {
		if what, left := c.state.judge(c.elapsed, hold); what != c.want || left != c.left {
			t.Errorf("%s: %s, %v left; want %s, %v", name, what, left, c.want, c.left)
		}
	}
}

func TestMayGo(t *testing.T) {
	shipped := store.Head{Seq: 9, At: 5, Chain: [32]byte{1}, Sealed: true}
	complete := state{Complete: true}
	complete.acknowledge(shipped, 100, clock{})
	complete.Complete = true
	begun := complete
	begun.Complete = false
	other := shipped
	other.Chain = [32]byte{2}
	for name, c := range map[string]struct {
		state state
		head  store.Head
		want  bool
	}{
		"shown":      {complete, shipped, true},
		"incomplete": {begun, shipped, false},
		"shorter":    {complete, store.Head{Seq: 8, Chain: [32]byte{1}}, false},
		"longer":     {complete, store.Head{Seq: 10, Chain: [32]byte{1}}, false},
		"another":    {complete, other, false},
		"none":       {complete, store.Head{}, false},
	} {
		if got := c.state.mayGo(c.head); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestElapsed holds that no clock that jumps frees a spool early where the uptime is known.
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
	s.acknowledge(store.Head{Seq: 9, At: 5, Chain: [32]byte{1, 2, 255}, Sealed: true}, 77, clock{time.Unix(5, 0).UTC(), "boot", time.Hour})
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
		{&store.ConflictError{Head: store.Head{Seq: 4}}, "session x is not shipped: the shared store has another recording under this id, which ends at event 4; the recording stays in the outbox"},
		{fmt.Errorf("claim: %w", store.ErrLive), "session x is not shipped: another recorder has claimed it in the shared store; the recording stays in the outbox"},
		{&localError{errors.New("make the mask: bad rule")}, "session x is not shipped: make the mask: bad rule; the recording stays in the outbox"},
	} {
		if got := (&StoppedError{"x", c.cause}).Error(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestBatchWait(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{
		0: batchAge, 30 * time.Millisecond: 70 * time.Millisecond, 60 * time.Millisecond: leastWait, time.Hour: leastWait,
		-time.Hour: batchAge, // the clock of a recording that was started elsewhere
	} {
		if got := batchWait(age); got != want {
			t.Errorf("batchWait(%v) = %v, want %v", age, got, want)
		}
	}
}
