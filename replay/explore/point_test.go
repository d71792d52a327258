package explore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// lostUpdate is a bug between two frames: a value is read and written back.
func lostUpdate(r *Run) {
	value := 0
	r.Data = func() int { return value }
	for _, name := range []string{"a", "b"} {
		r.Op(name, func(ctx context.Context) error {
			old := value
			Point(ctx, "update")
			value = old + 1
			return nil
		})
	}
}

func checkUpdates(r *Run) error {
	if n := r.Data.(func() int)(); n != 2 {
		return errors.New("an update was lost")
	}
	return nil
}

func TestPoint(t *testing.T) {
	r := Search(t, Plan{Setup: lostUpdate, Check: checkUpdates})
	if r.Verdict != CheckFailed || !strings.Contains(r.Text(), "reach update by b#1") || len(r.Notes) > 0 {
		t.Error(r.Text())
	}
	again := Search(t, Plan{Setup: lostUpdate, Check: checkUpdates, Token: r.Token})
	if again.Verdict != CheckFailed {
		t.Error(again.Text())
	}
	Point(t.Context(), "outside of a run") // returns
}

// A point returns when its context ends, and when the run does.
// TestAtRest: a pass without a Point says that handlers ran to rest.
func TestAtRest(t *testing.T) {
	for points, want := range map[bool]bool{true: false, false: true} {
		r := Search(t, Plan{Schedules: 3, Setup: func(r *Run) {
			r.Op("a", func(ctx context.Context) error {
				if points {
					Point(ctx, "here")
				}
				return nil
			})
		}})
		if r.AtRest != want || strings.Contains(r.Text(), "handlers ran to rest") != want {
			t.Errorf("points %t: %t\n%s", points, r.AtRest, r.Text())
		}
	}
}

func TestPointEnds(t *testing.T) {
	never := Strategy(StrategyFunc(func(uint64, int, int) Chooser {
		return func(_ int, enabled []Step) int { return len(enabled) - 1 }
	}))
	Explore(t, Plan{Strategy: never, Schedules: 1, Setup: func(r *Run) {
		r.Go(func(ctx context.Context) {
			Point(ctx, "twice")
			Point(ctx, "twice")
		})
		r.Op("a", func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			go cancel()
			Point(ctx, "cancelled")
			return nil
		})
	}})
	r := Search(t, Plan{Schedules: 1, Steps: 2, Setup: func(r *Run) {
		r.Op("a", func(ctx context.Context) error {
			for ctx.Err() == nil {
				Point(ctx, "again")
			}
			return nil
		})
	}})
	if r.Verdict != Undecided || r.Leaked {
		t.Error(r.Text())
	}
}

// An operation that comes after others starts when those have returned.
func TestAfter(t *testing.T) {
	Explore(t, Plan{Strategy: Random, Setup: func(r *Run) {
		var order []string
		r.Data = func() string { return strings.Join(order, " ") }
		step := func(name string) func(context.Context) error {
			return func(ctx context.Context) error {
				Point(ctx, "in")
				order = append(order, name)
				return nil
			}
		}
		r.Op("first", step("first"))
		r.Op("second", step("second")).After("first")
		r.Op("third", step("third")).After("first")
		r.Op("last", step("last")).After("second", "third")
	}, Check: func(r *Run) error {
		if order := r.Data.(func() string)(); !strings.HasPrefix(order, "first ") || !strings.HasSuffix(order, " last") {
			return errors.New(order)
		}
		return nil
	}})
	r := Search(t, Plan{Setup: func(r *Run) {
		r.Op("a", func(context.Context) error { return nil }).After("b")
	}})
	if want := "Setup panicked: explore: operation a: it cannot come after b, which was not added before"; r.Verdict != Panic || r.Explanation != want {
		t.Error(r.Text())
	}
}

// What comes after an operation that hangs does not start.
func TestAfterHang(t *testing.T) {
	r := Search(t, Plan{Schedules: 1, Setup: func(r *Run) {
		r.Op("connect", func(ctx context.Context) error {
			_, err := r.Client().Read(ctx)
			return err
		})
		r.Op("call", func(context.Context) error { return nil }).After("connect")
	}})
	if r.Verdict != Hang || r.Category != NeverSent || !slices.Equal(r.Unfinished, []string{"connect", "call"}) ||
		!strings.Contains(r.Text(), "operation call     waits for  operation connect\n") {
		t.Error(r.Text())
	}
}

// A half close is a step, and its far reader's end of file another; what comes
// back is still read.
func TestHalfClose(t *testing.T) {
	Explore(t, Plan{Strategy: Random, Setup: func(r *Run) {
		r.Op("client", func(ctx context.Context) error {
			if err := r.Client().Write(ctx, note("x")); err != nil {
				return err
			}
			if err := r.Client().(transport.HalfCloser).CloseWrite(); err != nil {
				return err
			}
			if err := r.Client().Write(ctx, note("y")); !errors.Is(err, transport.ErrClosed) {
				return errors.New("a write after CloseWrite went through")
			}
			for range 2 {
				if _, err := r.Client().Read(ctx); err != nil {
					return err
				}
			}
			return r.Client().Close()
		})
		r.Op("server", func(ctx context.Context) error {
			for {
				_, err := r.Server().Read(ctx)
				if errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					return err
				}
				if err := r.Server().Write(ctx, note("answer")); err != nil {
					return err
				}
			}
			time.Sleep(time.Second)
			return r.Server().Write(ctx, note("late answer"))
		})
	}})
}

// A frame is delivered in the recording of a run if one of its steps gave it, the last of
// them too; what was never given, or by a step that is not shown, was not.
func TestFactsDelivered(t *testing.T) {
	l := &gate.Lane{Dir: transport.ClientToServer}
	steps := make([]Step, 4)
	for i, given := range []int{4, 0, 5, 1} {
		steps[i] = Step{Kind: gate.Take, Dir: l.Dir, Flight: &gate.Flight{Name: string(rune('a' + i)), Dir: l.Dir, Lane: l, Given: given}}
	}
	var got []string
	for _, f := range laneFacts(l, steps) {
		if f.event.Kind == store.Delivered {
			got = append(got, fmt.Sprint(f.flight.Name, " after ", f.after))
		}
	}
	if want := []string{"a after 4", "d after 1"}; !slices.Equal(got, want) {
		t.Errorf("delivered: %v, want %v", got, want)
	}
}
