package explore

import "math/bits"

// trail is what a run leaves for the report's coverage.
type trail struct {
	touching
	class  uint64       // of the trace: runs that differ only in steps that commute have the same
	levels [reaches]int // of the last step that touched it
	races  []uint64     // pairs of steps that were enabled together and do not commute, in the order of this run
}

// step adds the release of enabled[i].
//
// The level of a step in the Foata normal form is one above the highest of the
// steps before that it does not commute with. The sum stands for the form: it
// does not change with the order in which steps of one level were released.
func (t *trail) step(enabled []Step, i int) {
	chosen := enabled[i].Hash()
	what := t.of(enabled[i])
	level := 0
	for set := what; set != 0; set &= set - 1 {
		level = max(level, t.levels[bits.TrailingZeros8(uint8(set))])
	}
	level++
	for set := what; set != 0; set &= set - 1 {
		t.levels[bits.TrailingZeros8(uint8(set))] = level
	}
	t.class += scramble(chosen ^ uint64(level)*0x9e3779b97f4a7c15)
	for j, other := range enabled {
		if j != i && what&t.of(other) != 0 {
			t.races = append(t.races, race(chosen, other.Hash()))
		}
	}
}

// race stands for the pair of steps, the same for both orders but for its lowest
// bit, which tells which was first.
func race(first, second uint64) uint64 {
	if first < second {
		return scramble(first^bits.RotateLeft64(second, 23)) &^ 1
	}
	return scramble(second^bits.RotateLeft64(first, 23)) | 1
}
