package external

import (
	"slices"

	"github.com/mcprec/mcprec/replay/external/child"
)

// mostSerial is how many calls a burst may have whose orders are all played.
const mostSerial = 3

// serial tells whether some order of the calls, one after the other, gives the answers that a burst of
// them gave.
type serial struct {
	unstable map[uint64]bool     // answers that differ between two plain plays
	outcomes []map[uint64]string // the answers of each order
}

// newSerial plays the calls of a burst in every order, each in a fresh process: a single call alone. ok is
// false if there is none or too many of them, or an order does not come to its end.
func newSerial(peer peer, calls []uint64, unstable map[uint64]bool, patience child.Patience) (s *serial, ok bool, err error) {
	if len(calls) == 0 || len(calls) > mostSerial {
		return nil, false, nil
	}
	s = &serial{unstable: unstable}
	for _, order := range permutations(calls) {
		played, err := peer.play(Schedule{{Kind: Order, First: slices.Min(calls), Last: slices.Max(calls), Frames: order}}, patience)
		if err != nil || !played.isWhole() {
			return nil, false, err
		}
		s.outcomes = append(s.outcomes, played.answers)
	}
	return s, true, nil
}

// explains reports whether the answers are those of some order.
func (s *serial) explains(answers map[uint64]string) bool {
	return slices.ContainsFunc(s.outcomes, func(outcome map[uint64]string) bool { return same(outcome, answers, s.unstable) })
}

// same reports whether two plays have the same answers, apart from those that are unstable.
func same(a, b map[uint64]string, unstable map[uint64]bool) bool {
	differ := func(a, b map[uint64]string) bool {
		for seq, answer := range a {
			if other, isThere := b[seq]; !unstable[seq] && (!isThere || other != answer) {
				return true
			}
		}
		return false
	}
	return !differ(a, b) && !differ(b, a)
}

// permutations returns the orders of a list, its own first.
func permutations(list []uint64) (orders [][]uint64) {
	if len(list) <= 1 {
		return [][]uint64{slices.Clone(list)}
	}
	for i, first := range list {
		rest := slices.Concat(list[:i], list[i+1:])
		for _, order := range permutations(rest) {
			orders = append(orders, append([]uint64{first}, order...))
		}
	}
	return orders
}
