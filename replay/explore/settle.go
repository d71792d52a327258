package explore

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// settled is the engine for peers that cannot live in a bubble. Nothing of the
// run moves when two looks at the stacks of the whole process, one after the
// other, show every goroutine of the run waiting at the same place.
//
// Time is real here. Stacks show a sleeper and a wait for I/O, but not the timer
// of a select or a context: rest is no proof.
type settled struct {
	run   *Run
	known map[int]bool // goroutines seen, and whether they are of the run
	doubt map[int]bool // those that only count as the run's: nobody has seen who started them
	label label
	still *freeze // what those of the run wait for, at the last look
}

// settling is held by the one run in the process that is settled: goroutines
// whose parent nobody has seen delay it, as if they were its own.
var settling sync.Mutex

// yields is how often a run gets the processor before its stacks are taken, which
// stops the world.
const yields = 20

// live implements host.
func (s *settled) live(_ *testing.T, do func()) {
	settling.Lock()
	defer settling.Unlock()
	for i, g := range goroutines(snapshot()) {
		s.known[g.id] = i == 0 // the caller comes first
	}
	s.label = newLabel()
	do()
}

// await implements host: the engine itself never stands still.
func (s *settled) await(ended <-chan any) (thrown any, f *freeze) { return <-ended, nil }

// call implements host, on a goroutine of its own that may be left behind.
func (s *settled) call(do func()) bool {
	ended := make(chan bool, 1)
	go func() {
		returned := false
		defer func() { ended <- returned }()
		do()
		returned = true
	}()
	for since := time.Now(); ; {
		runtime.Gosched()
		select {
		case returned := <-ended:
			if !returned { // the test was ended (FailNow)
				runtime.Goexit()
			}
			return true
		default:
		}
		if s.quiesce(); s.still.passing() {
			since = time.Now()
		}
		if len(ended) == 0 && !s.outlasts(since) {
			return false
		}
	}
}

// settle implements engine.
func (s *settled) settle() {
	select { // what arrived before is seen by who looks after this
	case <-s.run.gate.poked:
	default:
	}
	s.quiesce()
	s.run.gate.tick()
}

// quiesce returns when two looks in a row show the same standstill.
func (s *settled) quiesce() {
	for range yields {
		runtime.Gosched()
	}
	var last *freeze
	var seen uint64
	moved := time.Now()
	for pause := 20 * time.Microsecond; ; {
		moves := s.run.moves.Load()
		f := s.look(time.Since(moved) >= s.run.plan.Patience)
		if f != nil && last != nil && moves == seen && last.same(f) {
			s.still = f
			return
		}
		if moves != seen {
			moved = time.Now()
		}
		switch {
		case f == nil: // somebody works: let it
			s.tire(moves, moved)
			time.Sleep(pause)
			pause = min(2*pause, 5*time.Millisecond)
		case len(f.io)+len(f.calls) > 0: // what was written may not have woken its reader yet
			time.Sleep(time.Millisecond)
		}
		last, seen = f, moves
	}
}

// tire gives the run up, from within it, when somebody has worked for too long and
// nothing else has happened.
func (s *settled) tire(moves uint64, since time.Time) {
	if time.Since(since) < s.run.plan.stamina {
		return
	}
	f := &freeze{}
	for _, g := range s.members() {
		if !f.add(g) {
			f.busy = append(f.busy, g)
		}
	}
	if len(f.busy) > 0 && s.run.moves.CompareAndSwap(moves, moves|abandoned) {
		panic(f)
	}
}

// look returns what the goroutines of the run wait for, or nil if one of them works. A
// system call that is not known to wait counts as work, unless it lasts.
func (s *settled) look(lasts bool) *freeze {
	f := &freeze{}
	for _, g := range s.members() {
		if !f.add(g) || g.wait() == waitSyscall && !lasts {
			return nil
		}
	}
	return f
}

// members returns the goroutines of the run but the caller's.
func (s *settled) members() []goroutine { return s.ownOf(snapshot()[1:]) }

// ownOf returns those of a snapshot.
func (s *settled) ownOf(stacks []string) []goroutine {
	all := goroutines(stacks)
	byID := make(map[int]goroutine, len(all))
	for _, g := range all {
		byID[g.id] = g
	}
	var own []goroutine
	for _, g := range all {
		if s.owns(g, byID) {
			own = append(own, g)
		}
	}
	return own
}

// owns reports whether a goroutine is of the run: it was not there before, and
// its parent was not of others. One in a bubble never is.
func (s *settled) owns(g goroutine, all map[int]goroutine) bool {
	own, ok := s.known[g.id]
	if ok {
		return own
	}
	parent, there := all[g.parent]
	switch {
	case g.mark != "" || strings.Contains(g.text, "\nos/signal.loop("): // one for the process, whoever started it
		own = false
	case there:
		own = s.owns(parent, all)
	default:
		own, ok = s.known[g.parent]
		own = own || !ok
		s.doubt[g.id] = !ok
	}
	if s.doubt[g.parent] {
		s.doubt[g.id] = own
	}
	s.known[g.id] = own
	return own
}

// rest implements engine: who waits gets real time, up to the plan's patience after
// the last step that was not a beat.
func (s *settled) rest() bool {
	for {
		select {
		case <-s.run.gate.poked:
			if !s.still.passing() {
				s.run.plan.grace.came(time.Since(s.run.since))
			}
			return true
		default:
		}
		if !s.outlasts(s.run.since) {
			return false
		}
		s.quiesce()
	}
}

// outlasts lets a moment pass for those who wait. It reports false when there are
// none, or the patience with them has ended.
func (s *settled) outlasts(since time.Time) bool {
	p := s.run.plan
	left := p.Patience
	if patient := s.run.patient || s.still.passing(); !patient {
		left = p.grace.left(p.Patience)
	}
	if len(s.still.all()) == 0 {
		return false
	}
	if time.Since(since) >= left {
		p.grace.given.Store(p.grace.given.Load() || left == p.Patience && !s.still.passing())
		return false
	}
	pause := time.NewTimer(5 * time.Millisecond)
	defer pause.Stop()
	select {
	case <-s.run.gate.poked:
		s.run.gate.poke() // for whoever waits for it
	case <-pause.C:
	}
	return true
}

// verdict implements engine.
func (s *settled) verdict() (word, doubt string) {
	if s.still.passing() {
		return Undecided, fmt.Sprintf("%s, still after %v, which may end", s.still.why(), s.run.plan.Patience)
	}
	if g, ok := s.other(); ok {
		return Undecided, fmt.Sprintf("nobody of the run moves, but %s is not of the run, does [%s] and may end that", g.place(), g.state)
	}
	return Stall, ""
}

// other returns a goroutine that is not of the run and works, sleeps or waits for
// I/O: it may be about to wake one that is.
func (s *settled) other() (goroutine, bool) {
	own := map[int]bool{}
	for _, g := range s.members() {
		own[g.id] = true
	}
	for _, g := range goroutines(snapshot()[1:]) {
		if wait := g.wait(); wait != waitOther && wait != waitLock && !own[g.id] && g.outsider() {
			return g, true
		}
	}
	return goroutine{}, false
}

// stacks implements engine.
func (s *settled) stacks() []string { return s.still.stacks() }

// own implements engine.
func (s *settled) own(all []string) (list []string) {
	for _, g := range s.ownOf(all[1:]) {
		list = append(list, g.text)
	}
	return list
}

// left reports whether anybody who is surely of the run is still there.
func (s *settled) left() bool {
	all := s.still.all()
	for _, g := range all {
		if !s.doubt[g.id] {
			return true
		}
	}
	return len(all) > 0 && s.label.others() > 0
}

// reap implements host.
func (s *settled) reap() {
	begin := time.Now()
	for s.quiesce(); s.left() && s.outlasts(begin); {
		s.quiesce()
	}
	if !s.left() {
		return
	}
	for _, g := range s.still.all() {
		leftBehind.Store(g.id, nil)
	}
	switch r := s.run; {
	case s.still.passing() && r.verdict == Pass:
		r.verdict, r.stuck = Undecided, true
		r.why = fmt.Sprintf("the gate is closed and the context cancelled, but %s, still after %v", s.still.why(), r.plan.Patience)
		r.stacks = s.still.stacks()
	default:
		r.leaked(s.still.stacks())
	}
}
