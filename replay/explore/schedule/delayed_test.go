package schedule

import (
	"slices"
	"testing"

	"github.com/mcprec/mcprec/replay/explore/gate"
)

// A run whose steps are put off in their own order is the same run, also where it never
// released a step that was enabled: an end closed, and the frame was gone.
func TestReplayed(t *testing.T) {
	step := func(name string) gate.Step { return gate.Step{Kind: gate.Start, What: name} }
	enabled := [][]gate.Step{ // before each step of the run
		{step("never"), step("a"), step("b")},
		{step("never"), step("a")},
		{step("close")},
	}
	want := []string{"b", "a", "close"}
	var order []uint32
	for _, name := range want {
		order = append(order, uint32(step(name).Hash()))
	}
	follow := func(d *Delayed) (list []string) {
		for i, steps := range enabled {
			list = append(list, steps[d.Choose(i+1, steps)].What)
		}
		return list
	}
	replayed := NewReplayed(order)
	if got := follow(replayed); !slices.Equal(got, want) {
		t.Errorf("the run again: %v, want %v", got, want)
	}
	if got := follow(NewDelayed(replayed.Order())); !slices.Equal(got, want) || len(replayed.Order()) != 4 {
		t.Errorf("with the order that it found, %d steps: %v, want %v", len(replayed.Order()), got, want)
	}
	if got := follow(NewDelayed(order)); slices.Equal(got, want) {
		t.Errorf("without the step that was never released: %v, as with it", got)
	}
}
