package diff_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/mcprec/mcprec/replay/diff"
)

// TestMirror: what two sessions differ in is told the other way round, of any two. Notes
// are examples, of which either side may have another.
func TestMirror(t *testing.T) {
	all := sessions(t)
	names := slices.Sorted(maps.Keys(all))
	for i, name := range names {
		other := names[(i+1)%len(names)]
		r := compared(t, diff.Options{}, all[name], all[other])
		back := compared(t, diff.Options{}, all[other], all[name])
		if !maps.Equal(r.Counts, back.Counts) {
			t.Errorf("%s and %s: %v, the other way round %v", name, other, r.Counts, back.Counts)
		}
	}
}
