package closed_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/store"
)

// TestLaw holds the explorer to the closed replay: with a model at both ends and
// only delivery moving, a hang is found if and only if the closed replay says
// so, whatever the order of the steps.
func TestLaw(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	cases, hangs := scale(150, 10_000), 0
	for range cases {
		lines := replaytest.RandomLines(rng, rng.IntN(25))
		setup, events := closed.RandomSetup(rng), replaytest.Session(t, lines)
		plan, err := explore.Modeled(events, setup.Client, setup.Server)
		if err != nil {
			t.Fatal(err)
		}
		plan.Capacities = []explore.Capacity{{C2S: int(setup.Capacity.C2S), S2C: int(setup.Capacity.S2C)}}
		plan.Schedules, plan.Shrink, plan.Seed = 12, -1, rng.Uint64()
		got := explore.Search(t, plan)
		want := verdictOf(t, events, setup)
		if want.Verdict == closed.Hang {
			hangs++
		}
		if closed.Stands(setup.Client) && closed.Stands(setup.Server) { // two loops may stand, each for its own reason: the explorer names one
			want.Category = got.Category
		}
		if got.Verdict != want.Verdict || got.Category != want.Category || want.Verdict == closed.Hang && got.Schedules != 1 {
			t.Fatalf("%v\n%s\n%s\n%s", setup, lines, got.Text(), want.Text())
		}
	}
	if hangs < cases/10 || hangs > cases*9/10 {
		t.Errorf("%d of %d cases hang: they say little", hangs, cases)
	}
}

// TestHeldBatch holds that both engines name a hang by the message at which the reader is, where it holds several that came
// as one.
func TestHeldBatch(t *testing.T) {
	events := replaytest.Session(t, "> 1:call!\n< [~progress 1=]")
	plan, err := explore.Modeled(events, closed.NotificationQueue(0), closed.Independent)
	if err != nil {
		t.Fatal(err)
	}
	plan.Capacities, plan.Schedules, plan.Shrink = []explore.Capacity{{C2S: 2, S2C: 5}}, 1, -1
	got := explore.Search(t, plan)
	want := verdictOf(t, events, closed.Setup{Capacity: closed.Capacity{C2S: 2, S2C: 5}, Client: closed.NotificationQueue(0), Server: closed.Independent})
	if got.Category != closed.BehindNotification || want.Category != closed.BehindNotification {
		t.Errorf("%q and %q\n%s\n%s", got.Category, want.Category, got.Text(), want.Text())
	}
}

// scale is the number of cases: more in make night.
func scale(fast, soak int) int {
	if os.Getenv("MCPREC_NIGHT") != "" {
		return soak
	}
	return fast
}

func verdictOf(t *testing.T, events []store.Event, s closed.Setup) closed.Verdict {
	t.Helper()
	r, err := closed.Load(func(yield func(store.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return closed.Replay(r, s)
}

// TestSeedExplored is the seed: a client that hands notifications to a queue of q
// hangs iff more than q of them come before the response, at every capacity.
func TestSeedExplored(t *testing.T) {
	for n := range 6 {
		for _, q := range []int{0, 1, 3} {
			events := replaytest.Session(t, "> 1:call!\n"+strings.Repeat("< ~progress\n", n)+"< 1=")
			plan, err := explore.Modeled(events, closed.NotificationQueue(q), closed.Independent)
			if err != nil {
				t.Fatal(err)
			}
			want := explore.Pass
			if n > q {
				want = explore.Hang
			}
			for _, k := range []int{0, 1, 10, 1000, explore.Unbounded} {
				plan.Capacities, plan.Schedules = []explore.Capacity{{C2S: k, S2C: k}}, scale(6, 20)
				if r := explore.Search(t, plan); r.Verdict != want || n > q && r.Category != explore.BehindNotification {
					t.Errorf("%d notifications, queue %d, buffer %d: want %s\n%s", n, q, k, want, r.Text())
				}
			}
		}
	}
}

// TestRecordedHalvesNeverHang: recorded ends that read freely come to the end of
// the session, in recorded order and in any legal one, whatever was recorded.
func TestRecordedHalvesNeverHang(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range scale(50, 3000) {
		lines := replaytest.RandomLines(rng, rng.IntN(25))
		plan := explore.Plan{
			Session: replaytest.Session(t, lines), Schedules: 12, Seed: rng.Uint64(),
			Setup: func(r *explore.Run) { r.RecordedServer(); r.RecordedClient() },
			Check: func(*explore.Run) error { return nil },
		}
		for _, plan.Level = range []explore.Level{explore.DeliveryOrder, explore.SendingOrder} {
			if r := explore.Search(t, plan); r.Verdict != explore.Pass {
				t.Fatalf("%s\n%s", lines, r.Text())
			}
		}
	}
}

// TestSeedExploredLoose is the seed where the server may send in any legal order:
// progress comes before its response, so the same laws hold.
func TestSeedExploredLoose(t *testing.T) {
	for n := range 5 {
		for _, q := range []int{0, 1, 3} {
			plan, err := explore.Modeled(replaytest.Session(t, "> 1:call!\n"+strings.Repeat("< ~progress\n", n)+"< 1="), closed.NotificationQueue(q), closed.Independent)
			if err != nil {
				t.Fatal(err)
			}
			want := explore.Pass
			if n > q {
				want = explore.Hang
			}
			plan.Level = explore.SendingOrder
			if r := explore.Search(t, plan); r.Verdict != want || n > q && r.Category != explore.BehindNotification {
				t.Errorf("%d notifications, queue %d: want %s\n%s", n, q, want, r.Text())
			}
		}
	}
}

// TestBatchExploredLoose: behind a notification for which the inner queue has no room, a response
// in the same frame is not heard, at level SendingOrder as in the closed replay.
func TestBatchExploredLoose(t *testing.T) {
	for q, want := range []string{explore.Hang, explore.Pass} {
		events := replaytest.Session(t, "> 1:call\n< [~progress 1=]")
		if v := verdictOf(t, events, closed.Setup{Client: closed.NotificationQueue(q)}); v.Verdict != want {
			t.Errorf("queue %d: want %s\n%s", q, want, v.Text())
		}
		plan, err := explore.Modeled(events, closed.NotificationQueue(q), closed.Independent)
		if err != nil {
			t.Fatal(err)
		}
		plan.Level = explore.SendingOrder
		if r := explore.Search(t, plan); r.Verdict != want {
			t.Errorf("queue %d: want %s\n%s", q, want, r.Text())
		}
	}
}
