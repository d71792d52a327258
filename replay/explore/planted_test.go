package explore

import (
	"os"
	"slices"
	"testing"
)

// long is the mode of a soak run.
var long = os.Getenv("MCPREC_NIGHT") != ""

// scale returns the count of the mode.
func scale(short, soak int) int {
	if long {
		return soak
	}
	return short
}

func fixed(c2s, s2c int) []Capacity { return []Capacity{{C2S: c2s, S2C: s2c}} }

var planted = []struct {
	name     string
	setup    func(*Run)
	check    func(*Run) error
	capacity int
	verdict  string
	category string
}{
	{"both sides write and neither reads at 0", headOn(1), nil, 0, Hang, BothWrite},
	{"both sides write and neither reads at 3", headOn(4), nil, 3, Hang, BothWrite},
	{"both sides write and neither reads at 6", headOn(8), nil, 6, Hang, BothWrite},
	{"register after write", registerAfterWrite(0), nil, 0, Hang, AnswerLost},
	{"register after write, 6 noise", registerAfterWrite(6), nil, 0, Hang, AnswerLost},
	{"register after write, 20 noise", registerAfterWrite(20), nil, 0, Hang, AnswerLost},
	{"list_changed during list, 6 noise", staleList(6), checkFresh, 0, CheckFailed, ""},
	{"list_changed during list, 20 noise", staleList(20), checkFresh, 0, CheckFailed, ""},
	{"late progress, 3 calls", lateProgress, checkLate, 0, CheckFailed, ""},
	{"depth-3 order at 0", deepOrder, func(r *Run) error { return r.Data.(func() error)() }, 0, CheckFailed, ""},
	{"depth-3 order at 4", deepOrder, func(r *Run) error { return r.Data.(func() error)() }, 4, CheckFailed, ""},
}

func TestPlanted(t *testing.T) {
	t.Parallel()
	trials := scale(3, 31)
	for _, bug := range planted {
		t.Run(bug.name, func(t *testing.T) {
			var needed []int
			for trial := range trials {
				// Where a check is to find the bug, the rules must not find it first.
				p := Plan{Setup: bug.setup, Check: bug.check, Lawless: bug.check != nil, Capacities: fixed(bug.capacity, bug.capacity),
					Schedules: 500, Seed: uint64(trial)}
				r := Search(t, p)
				if r.Verdict != bug.verdict || r.Category != bug.category || len(r.Notes) > 0 {
					t.Fatalf("trial %d: want %s %s\n%s", trial, bug.verdict, bug.category, r.Text())
				}
				needed = append(needed, r.Schedules)
			}
			slices.Sort(needed)
			median, worst := needed[trials/2], needed[trials-1]
			t.Logf("median %d, worst %d of %d trials", median, worst, trials)
			if median > 50 {
				t.Errorf("median of %d trials: %d orders, want at most 50", trials, median)
			}
		})
	}
}

// The law of the seed: a hang iff more notifications come than the inner queue
// holds, whatever the capacity of the transport.
func TestSeed(t *testing.T) {
	t.Parallel()
	for _, capacity := range []int{0, 1, 9, Unbounded} {
		for _, queue := range []int{0, 1, 3} {
			for _, n := range []int{0, 1, 2, 3, 4, 5} {
				r := Search(t, Plan{Setup: seed(n, queue), Capacities: fixed(capacity, capacity), Schedules: scale(6, 20)})
				want, category := Pass, ""
				if n > queue {
					want, category = Hang, BehindNotification
				}
				if r.Verdict != want || r.Category != category {
					t.Errorf("buffer %d, notification queue %d, %d notifications: want %s\n%s", capacity, queue, n, want, r.Text())
				}
			}
		}
	}
}

func TestConforming(t *testing.T) {
	r := Explore(t, Plan{Setup: conforming, Schedules: scale(500, 20000)})
	if want := scale(500, 20000); r.Schedules != want {
		t.Errorf("%d orders, want %d", r.Schedules, want)
	}
}
