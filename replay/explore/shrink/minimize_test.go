package shrink

import (
	"slices"
	"testing"
)

func TestMinimize(t *testing.T) {
	for _, need := range [][]int{nil, {0}, {99}, {3, 4}, {0, 50, 99}, {10, 11, 12, 13, 14, 70, 80}} {
		tests := 0
		all := make([]int, 100)
		for i := range all {
			all[i] = i
		}
		got := Minimize(all, func(kept []int) bool {
			tests++
			for _, n := range need {
				if !slices.Contains(kept, n) {
					return false
				}
			}
			return true
		})
		if !slices.Equal(got, need) {
			t.Errorf("%v, want %v", got, need)
		}
		if limit := 2 + 16*len(need); tests > limit {
			t.Errorf("%v: %d tests, want at most %d", need, tests, limit)
		}
	}
}

// One can go, the other cannot: what is left cannot lose any single one.
func TestMinimizeEither(t *testing.T) {
	test := func(kept []int) bool { return len(kept) >= 3 && len(kept) != 4 }
	got := Minimize([]int{1, 2, 3, 4, 5, 6, 7, 8}, test)
	if !test(got) || len(got) > 5 {
		t.Errorf("%v", got)
	}
}
