package explore

import "slices"

// walk visits the tree of choices of one capacity, depth first, by making run
// after run: each follows the path so far to its last open branch.
//
// With sleep sets a step that was tried at a place sleeps in the branches beside
// it until a step is released that it does not commute with: what would begin with
// it there differs from what was visited only in the order of steps that commute.
// A run in which all enabled steps sleep is cut. Every class of runs ends
// exactly once so.
type walk struct {
	touching
	naive bool // without sleep sets: every order of steps
	path  []branching
	begun bool
	done  bool
	lost  bool // the peers did not do the same again
}

// branching is a place on the path: what is enabled there, what was released last,
// and what sleeps.
type branching struct {
	enabled []move
	chosen  int
	asleep  []move
}

// move is a step, as the walk knows it again.
type move struct {
	hash uint64
	what reach
}

// next returns the chooser of the next run, or nil when all is visited.
func (w *walk) next() Chooser {
	if w.begun && !w.done {
		w.done = w.lost || !w.turn()
	}
	if w.begun = true; w.done {
		return nil
	}
	return w.choose
}

// restart begins again with what was learned of the peers. The first run in which
// an end takes back a frame is never missed: up to it all that was taken to commute
// does. Neither is one in which an operation touches what it did not before.
func (w *walk) restart() { w.path, w.begun = nil, false }

// turn goes back to the last place where something else may be released.
func (w *walk) turn() bool {
	for len(w.path) > 0 {
		b := &w.path[len(w.path)-1]
		if b.chosen >= 0 {
			b.asleep = append(b.asleep, b.enabled[b.chosen])
		}
		if b.chosen = b.awake(); b.chosen >= 0 {
			return true
		}
		w.path = w.path[:len(w.path)-1]
	}
	return false
}

// awake returns the first enabled step that does not sleep, or -1.
func (b *branching) awake() int {
	return slices.IndexFunc(b.enabled, func(m move) bool { return !slices.Contains(b.asleep, m) })
}

// choose follows the path, and beyond its end takes the first step that is awake.
func (w *walk) choose(at int, enabled []Step) int {
	if w.lost {
		return -1
	}
	if at <= len(w.path) {
		return w.again(&w.path[at-1], enabled)
	}
	b := branching{enabled: make([]move, len(enabled))}
	for i, s := range enabled {
		b.enabled[i] = move{s.Hash(), w.of(s)}
	}
	if at > 1 && !w.naive {
		b.asleep = w.path[at-2].still()
	}
	b.chosen = b.awake()
	w.path = append(w.path, b)
	return b.chosen
}

// again finds the step that is to be released at a place that was met before.
func (w *walk) again(b *branching, enabled []Step) int {
	want := b.enabled[b.chosen].hash
	i := slices.IndexFunc(enabled, func(s Step) bool { return s.Hash() == want })
	w.lost = w.lost || i < 0 || len(enabled) != len(b.enabled)
	return i
}

// still returns what sleeps after the chosen step: what commutes with it.
func (b *branching) still() []move {
	var list []move
	for _, m := range b.asleep {
		if m.what&b.enabled[b.chosen].what == 0 {
			list = append(list, m)
		}
	}
	return list
}
