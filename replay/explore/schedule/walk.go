package schedule

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/transport"
)

// Walk visits every class of runs at a capacity, run after run, depth first, by source-set
// dynamic partial order reduction (Abdulla, Aronis, Jonsson and Sagonas, 2014).
//
// A run shows races: two steps that do not commute, with no step between them that comes
// after the first and before the second. Where the first step was chosen, the walk then wants
// a step with which the second can go first. Other steps are not tried. A step that was tried
// at a place sleeps in the sibling branches, until a step is released that does not commute
// with the sleeper. A run in which every enabled step sleeps is cut. Every class of runs ends
// exactly once.
//
// The method takes it that no step disables another. Here a full queue, a missing reader, a
// close and a Write that gives up do. So a known step that is not enabled, or not any more,
// races as if it had been released; and that there is room or a reader puts no steps in an
// order.
type Walk struct {
	Touching
	Naive bool // every order of steps
	Lost  bool // the peers behaved differently on the same steps

	path  []place
	begun bool
}

// Restart begins the walk again, with what was learned of the peers.
func (w *Walk) Restart() {
	w.path = nil
	w.begun = false
}

// place is where a step of the path is chosen. Places and steps count from 1.
type place struct {
	enabled []move
	wanted  []bool // which of the enabled steps to try
	blocked []move // known, and not enabled: see [gate.Gate.Blocked]; also time, and takes that have gone
	asleep  []move
	chosen  int     // of the enabled steps; -1: all are asleep
	last    touches // of all steps before the place
	past    touches // of the chosen step and the steps that must come before it
}

// released is the chosen step.
func (p *place) released() move { return p.enabled[p.chosen] }

// move is a step in the memory of the walk.
type move struct {
	hash  uint64
	what  reach
	kind  gate.Kind
	lane  reach  // of a take, a give or an EOF, stands for the direction
	reads uint64 // see [gate.Step.Reads]
	cause int    // the number of the step that made this one known, or 0
}

// affects reports whether a step may change whether another is enabled. A give makes room for
// a take, though they commute.
func (m move) affects(other move) bool { return m.what&other.what != 0 || m.lane&other.lane != 0 }

// touches is the number of the last step, of some steps, that touches each thing; or 0.
type touches [reaches]int

// find returns the index of the step in the list, or -1.
func find(list []move, step move) int {
	return slices.IndexFunc(list, func(m move) bool { return m.hash == step.hash })
}

// Next prepares a run from the last place with another wanted step. It reports false at the
// end of the walk.
func (w *Walk) Next() bool {
	if !w.begun {
		w.begun = true
		return true
	}
	for !w.Lost && len(w.path) > 0 {
		p := &w.path[len(w.path)-1]
		if p.chosen >= 0 {
			p.asleep = append(p.asleep, p.released())
		}
		if p.choose() {
			w.follow(len(w.path))
			return true
		}
		w.path = w.path[:len(w.path)-1]
	}
	return false
}

// choose takes the first wanted step that is awake, and reports whether there is one.
func (p *place) choose() bool {
	p.chosen = -1
	for i, m := range p.enabled {
		if p.wanted[i] && find(p.asleep, m) < 0 {
			p.chosen = i
			break
		}
	}
	return p.chosen >= 0
}

// Choose is the [Chooser] of the run.
func (w *Walk) Choose(at int, enabled []gate.Step) int {
	if w.Lost {
		return -1
	}
	p := &w.path[at-1]
	if p.chosen < 0 {
		return -1
	}
	i := slices.IndexFunc(enabled, func(step gate.Step) bool { return step.Hash() == p.released().hash })
	w.Lost = i < 0 || len(enabled) != len(p.enabled)
	return i
}

// Arrive tells the walk what is enabled and what is blocked before each step, and where no
// step is enabled.
func (w *Walk) Arrive(at int, enabled, blocked []gate.Step) {
	if w.Lost || at <= len(w.path) {
		return
	}
	here := place{enabled: w.moves(enabled), blocked: w.moves(blocked), wanted: make([]bool, len(enabled)), chosen: -1}
	if at > 1 && !w.Naive {
		w.pass(&w.path[at-2], &here, at)
	}
	if len(enabled) == 0 {
		return
	}
	for i, m := range here.enabled {
		here.wanted[i] = find(here.asleep, m) < 0
		if here.wanted[i] && !w.Naive {
			break
		}
	}
	w.path = append(w.path, here)
	if w.path[at-1].choose() {
		w.follow(at)
	}
}

// moves remembers steps.
func (w *Walk) moves(steps []gate.Step) []move {
	list := make([]move, len(steps))
	for i, s := range steps {
		list[i] = move{hash: s.Hash(), what: w.of(s), kind: s.Kind, reads: s.Reads(), cause: s.Cause()}
		if s.Kind == gate.Take || s.Kind == gate.Give || s.Kind == gate.EOF {
			list[i].lane = takesOf(s.Dir)
		}
	}
	return list
}

// pass goes from a place to the next: which steps sleep on, and which are blocked now.
func (w *Walk) pass(before, here *place, at int) {
	done := before.released()
	here.last = before.last
	done.what.each(func(thing int) { here.last[thing] = at - 1 })
	for _, m := range before.asleep { // steps that commute with the step before sleep on
		if m.what&done.what == 0 {
			here.asleep = append(here.asleep, m)
		}
	}
	for _, m := range slices.Concat(before.enabled, before.blocked) {
		if m.hash == done.hash || find(here.enabled, m) >= 0 || find(here.blocked, m) >= 0 {
			continue
		}
		if m.kind == gate.Take {
			here.blocked = append(here.blocked, m)
		} else {
			w.race(m, here.last, at)
		}
	}
	for _, m := range here.blocked {
		if done.affects(m) || find(before.blocked, m) < 0 {
			w.race(m, here.last, at)
		}
	}
}

// follow computes what must come before the chosen step of a place, and its races.
func (w *Walk) follow(at int) {
	p := &w.path[at-1]
	if w.Naive {
		return
	}
	step := p.released()
	w.race(step, p.last, at)
	p.past = touches{}
	for _, i := range w.direct(step, p.last) {
		for thing, n := range w.path[i-1].past {
			p.past[thing] = max(p.past[thing], n)
		}
	}
	step.what.each(func(thing int) { p.past[thing] = at })
}

// direct lists the steps directly before a step: its cause, and the last that touched the
// same things.
func (w *Walk) direct(step move, last touches) (list []int) {
	if step.cause > 0 {
		list = append(list, step.cause)
	}
	step.what.each(func(thing int) {
		if last[thing] > 0 {
			list = append(list, last[thing])
		}
	})
	return list
}

// before reports whether step i of the path is j, or must come before j.
func (w *Walk) before(i, j int) bool {
	what := w.path[i-1].released().what
	return w.path[j-1].past[bits.TrailingZeros8(uint8(what))] >= i
}

// race finds the races of a step at a place with the steps before, and wants the other order.
func (w *Walk) race(step move, last touches, at int) {
	direct := w.direct(step, last)
	for _, i := range direct {
		between := func(j int) bool { return j == step.cause && j == i || j != i && w.before(i, j) }
		m := w.path[i-1].released()
		inTurn := m.hash == step.hash || m.reads != 0 && m.reads == step.reads
		if !inTurn && !slices.ContainsFunc(direct, between) {
			w.reverse(i, step, at)
		}
	}
}

// reverse wants a step, where step i was chosen, that can go first in a run with the steps
// that need not come after i, and then the given step. Nothing is to do if there is one
// already, or one sleeps: then such runs are visited. Nor if the given step was blocked
// there, and none of the others can change that.
func (w *Walk) reverse(i int, step move, at int) {
	p := &w.path[i-1]
	blocked := find(p.blocked, step) >= 0
	visited := false
	var touched reach // by the steps of that run so far
	first := -1
	add := func(m move) {
		if j := find(p.enabled, m); j >= 0 && m.what&touched == 0 {
			visited = visited || p.wanted[j] || find(p.asleep, m) >= 0
			if first < 0 {
				first = j
			}
		}
		touched |= m.what
	}
	for j := i + 1; j < at; j++ {
		if !w.before(i, j) {
			m := w.path[j-1].released()
			blocked = blocked && !m.affects(step)
			add(m)
		}
	}
	add(step)
	if !visited && !blocked && first >= 0 {
		p.wanted[first] = true
	}
}

// reach is the set of things that a step touches: two steps with disjoint sets commute.
type reach uint8

const (
	clientEnd reach = 1 << iota // goroutines of the client wake
	serverEnd
	c2sTakes // which writer is taken next in the direction
	s2cTakes
	anything = clientEnd | serverEnd | c2sTakes | s2cTakes
	reaches  = 4
)

// each calls do for each thing of the set.
func (r reach) each(do func(thing int)) {
	for set := r; set != 0; set &= set - 1 {
		do(bits.TrailingZeros8(uint8(set)))
	}
}

// Touching computes the reach of steps at a capacity.
type Touching struct {
	Capacity Capacity
	Split    bool // ack is a step of its own
	Lessons
}

// Lessons are facts about the peers that runs have shown.
type Lessons struct {
	// Recall: ends take back offered frames. A take does not commute then with a step that
	// wakes the end of the writer.
	Recall bool
	// shared: the ends wake each other past the gate.
	shared bool
	// learned is the reach of steps by hash: of operations when they began, and of steps after which
	// an exchange of HTTP was given up.
	learned map[uint64]reach
}

// of returns the reach of a step. A close changes both ends, and an operation of an unknown
// end may: these steps touch anything, like every kind that is not listed. Client and server
// are taken to share only the gate, until a run shows otherwise.
//
// Over HTTP the ends share the responses. A handler adds a part behind those that wait, and the
// client takes the first: this commutes. An end that gives an exchange up takes parts away, so
// that the step after which it does so touches anything.
func (t *Touching) of(step gate.Step) reach {
	if t.shared {
		return anything
	}
	if len(t.learned) > 0 {
		if what := t.learned[step.Hash()]; what != 0 {
			return what
		}
	}
	if ends, ok := step.Wakes(); ok {
		return reachOf(ends)
	}
	switch step.Kind {
	case gate.Ack:
		return senderEnd(step.Dir)
	case gate.Give, gate.EOF:
		return senderEnd(step.Dir.Reverse())
	case gate.Take:
		what, room := takesOf(step.Dir), t.Capacity.C2S
		if step.Dir == transport.ServerToClient {
			room = t.Capacity.S2C
		}
		if room == 0 { // hand to hand
			what |= senderEnd(step.Dir.Reverse())
		}
		if !t.Split || t.Recall {
			what |= senderEnd(step.Dir)
		}
		return what
	}
	return anything
}

// Learn notes which ends used the gate after a step, and whether an exchange of HTTP was given up,
// against the reach taken for the step. An operation that began and used no end may touch anything.
func (l *Lessons) Learn(step gate.Step, used [2]bool, givenUp bool, taken Touching) {
	what := reachOf(used)
	switch {
	case givenUp, step.Kind == gate.Start && what == 0:
		what = anything
	case step.Kind != gate.Start:
		l.shared = l.shared || what&^taken.of(step) != 0
		return
	}
	if l.learned == nil {
		l.learned = map[uint64]reach{}
	}
	l.learned[step.Hash()] |= what
}

// Adopt takes in the lessons of a run, and reports whether anything is new.
func (l *Lessons) Adopt(of Lessons) bool {
	news := of.Recall && !l.Recall || of.shared && !l.shared
	l.Recall = l.Recall || of.Recall
	l.shared = l.shared || of.shared
	learned := map[uint64]reach{}
	maps.Copy(learned, l.learned) // runs may still read the old one
	for hash, what := range of.learned {
		news = news || what&^learned[hash] != 0
		learned[hash] |= what
	}
	l.learned = learned
	return news
}

// reachOf is the reach of a step that wakes these ends, the client's first.
func reachOf(ends [2]bool) (what reach) {
	if ends[0] {
		what |= clientEnd
	}
	if ends[1] {
		what |= serverEnd
	}
	return what
}

// takesOf is the choice among the writers of the direction.
func takesOf(dir transport.Direction) reach {
	if dir == transport.ClientToServer {
		return c2sTakes
	}
	return s2cTakes
}

// senderEnd is the end that writes in the direction.
func senderEnd(dir transport.Direction) reach {
	if dir == transport.ClientToServer {
		return clientEnd
	}
	return serverEnd
}

// Trail is the contribution of a run to the coverage.
type Trail struct {
	Touching
	class  uint64       // of the trace: equal for runs that differ only in commuting steps
	levels [reaches]int // of the last touching step
	races  []uint64     // pairs of steps, enabled together, that do not commute; the first mostRaces
	more   bool         // there are others
}

// mostRaces is how many pairs of steps a run and a tally keep: where everything may be said at any time they grow
// with the square of the session.
const mostRaces = 1 << 18

// Step adds the release of enabled[i].
//
// The level of a step in the Foata normal form is above the highest of the steps before
// with which it does not commute. The sum stands for the form: it does not change with the
// order of the steps within a level.
func (t *Trail) Step(enabled []gate.Step, i int) {
	chosen := enabled[i].Hash()
	what := t.of(enabled[i])
	level := 0
	what.each(func(thing int) { level = max(level, t.levels[thing]) })
	level++
	what.each(func(thing int) { t.levels[thing] = level })
	t.class += gate.Scramble(chosen ^ uint64(level)*0x9e3779b97f4a7c15)
	for j, other := range enabled {
		if len(t.races) == mostRaces {
			t.more = true
			break
		}
		if j != i && what&t.of(other) != 0 {
			// The number stands for the pair; its lowest bit alone tells which went first.
			low := chosen
			high := other.Hash()
			first := uint64(0)
			if low >= high {
				low, high, first = high, low, 1
			}
			t.races = append(t.races, gate.Scramble(low^bits.RotateLeft64(high, 23))&^1|first)
		}
	}
}

// Coverage says how much of the possible behaviour a search has seen.
type Coverage struct {
	// Classes counts the schedules that differ in more than the order of commuting steps
	// (Mazurkiewicz traces), each capacity for itself.
	Classes int `json:"classes"`
	// Unseen estimates the chance that a further schedule would be of a new class, after
	// Good and Turing: the share of schedules whose class was seen once.
	Unseen float64 `json:"unseen"`
	// Races counts the pairs of steps that were enabled at the same time and do not
	// commute; Reversed the pairs released in both orders.
	Races    int `json:"races"`
	Reversed int `json:"reversed"`
	// Uncounted: there were more pairs than Races counts.
	Uncounted bool `json:"uncounted,omitempty"`
	// Timed counts the schedules in which time passed while frames waited, Fired those in
	// which a timer then made a peer use the transport.
	Timed int `json:"timed,omitempty"`
	Fired int `json:"fired,omitempty"`
	// New counts, among the Recent last schedules, those that were of a new class. Both are 0
	// where the capacities were searched apart.
	Recent int `json:"recent"`
	New    int `json:"new"`
}

// Tally gathers the trails of runs.
type Tally struct {
	Classes      map[uint64]bool // whether a class was seen more than once
	Timed, Fired int             // see Coverage

	runs   int
	races  map[uint64]uint8 // the orders seen, as bits
	news   []int            // numbers of the last runs of a new class, from 1
	more   bool             // races lacks some
	merged bool
}

// recentRuns is how many runs count as recent.
const recentRuns = 50

// NewTally returns the tally of no run.
func NewTally() *Tally { return &Tally{Classes: map[uint64]bool{}, races: map[uint64]uint8{}} }

// Add counts a run.
func (c *Tally) Add(trail *Trail) {
	c.runs++
	class := gate.Scramble(trail.class ^ uint64(trail.Capacity.C2S)<<32 ^ uint64(uint32(trail.Capacity.S2C)))
	_, seen := c.Classes[class]
	c.Classes[class] = seen
	if !seen {
		c.news = append(c.news[max(0, len(c.news)-recentRuns+1):], c.runs)
	}
	c.more = c.more || trail.more
	for _, r := range trail.races {
		if _, known := c.races[r&^1]; !known && len(c.races) >= mostRaces {
			c.more = true
			continue
		}
		c.races[r&^1] |= 1 << (r & 1)
	}
}

// Merge adds the runs of another tally, at another capacity.
func (c *Tally) Merge(other *Tally) {
	c.runs += other.runs
	c.Timed += other.Timed
	c.Fired += other.Fired
	c.merged = true
	c.more = c.more || other.more
	maps.Copy(c.Classes, other.Classes)
	for race, orders := range other.races {
		c.races[race] |= orders
	}
}

// Coverage sums up.
func (c *Tally) Coverage() Coverage {
	r := Coverage{Classes: len(c.Classes), Races: len(c.races), Uncounted: c.more, Timed: c.Timed, Fired: c.Fired}
	once := 0
	for _, again := range c.Classes {
		if !again {
			once++
		}
	}
	r.Unseen = float64(once) / float64(max(1, c.runs))
	for _, orders := range c.races {
		if orders == 1|2 {
			r.Reversed++
		}
	}
	if !c.merged {
		r.Recent = min(c.runs, recentRuns)
		for _, run := range c.news {
			if run > c.runs-recentRuns {
				r.New++
			}
		}
	}
	return r
}
