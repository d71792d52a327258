package explore

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/explore/stacks"
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
	label string       // of its goroutines: see labelled
	still *freeze      // what those of the run wait for, at the last look
}

// settling is held by the one run in the process that is settled: goroutines
// whose parent nobody has seen delay it, as if they were its own.
var settling sync.Mutex

// leftBehind are the goroutines that settled runs of this process left behind, by
// number. What they hold is of those runs.
var leftBehind sync.Map

// outsider reports whether a goroutine may be of anybody, and may hold a mutex of a run.
func outsider(g stacks.Goroutine) bool {
	_, left := leftBehind.Load(g.ID)
	return !left && g.Outsider()
}

func (s *settled) live(_ *testing.T, do func()) {
	settling.Lock()
	defer settling.Unlock()
	for i, g := range stacks.Take() {
		s.known[g.ID] = i == 0 // the caller comes first
	}
	s.label = fmt.Sprint(labels.Add(1))
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(labelKey, s.label)))
	do()
}

// The engine itself never stands still.
func (s *settled) await(ended <-chan any) (thrown any, f *freeze) { return <-ended, nil }

// The call is made on a goroutine of its own that may be left behind.
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
		s.quiesce()
		if s.still.passing() {
			since = time.Now()
		}
		if len(ended) == 0 && !s.outlasts(since) {
			return false
		}
	}
}

func (s *settled) settle() {
	select { // what arrived before is seen by who looks after this
	case <-s.run.gate.Poked():
	default:
	}
	s.quiesce()
	s.run.moves.Tick()
}

// quiesce returns when two looks in a row show the same standstill.
func (s *settled) quiesce() {
	for range 20 { // taking stacks stops the world
		runtime.Gosched()
	}
	var last *freeze
	var seen uint64
	moved := startStopwatch()
	for pause := 20 * time.Microsecond; ; {
		moves := s.run.moves.Count()
		f := s.look(time.Since(moved.start) >= s.run.plan.Patience)
		if f != nil && last != nil && moves == seen && last.same(f) {
			s.still = f
			return
		}
		if moves != seen {
			moved = startStopwatch()
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
func (s *settled) tire(moves uint64, moved stopwatch) {
	if moved.elapsed() < s.run.plan.stamina {
		return
	}
	f := &freeze{}
	for _, g := range s.own(stacks.Take()) {
		if !f.add(g) {
			f.busy = append(f.busy, g)
		}
	}
	if len(f.busy) > 0 && s.run.moves.Abandon(moves) {
		panic(f)
	}
}

// look returns what the goroutines of the run wait for, or nil if one of them works. A
// system call that is not known to wait counts as work, unless it lasts.
func (s *settled) look(lasts bool) *freeze {
	f := &freeze{}
	for _, g := range s.own(stacks.Take()) {
		if !f.add(g) || g.Wait() == stacks.WaitSyscall && !lasts {
			return nil
		}
	}
	return f
}

// own leaves out the caller, who comes first.
func (s *settled) own(all stacks.Dump) stacks.Dump {
	all = all[1:]
	byID := make(map[int]stacks.Goroutine, len(all))
	for _, g := range all {
		byID[g.ID] = g
	}
	var own stacks.Dump
	for _, g := range all {
		if s.owns(g, byID) {
			own = append(own, g)
		}
	}
	return own
}

// owns reports whether a goroutine is of the run: it was not there before, and
// its parent was not of others. One in a bubble never is.
func (s *settled) owns(g stacks.Goroutine, all map[int]stacks.Goroutine) bool {
	own, ok := s.known[g.ID]
	if ok {
		return own
	}
	parent, there := all[g.Parent]
	switch {
	case g.Bubble != "" || strings.Contains(g.Text, "\nos/signal.loop("): // one for the process, whoever started it
		own = false
	case there:
		own = s.owns(parent, all)
	default:
		own, ok = s.known[g.Parent]
		own = own || !ok
		s.doubt[g.ID] = !ok
	}
	if s.doubt[g.Parent] {
		s.doubt[g.ID] = own
	}
	s.known[g.ID] = own
	return own
}

// In rest who waits gets real time, up to the plan's patience after
// the last step that was not periodic.
func (s *settled) rest() bool {
	for {
		select {
		case <-s.run.gate.Poked():
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
	if !s.run.patient && !s.still.passing() {
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
	case <-s.run.gate.Poked():
		s.run.gate.Poke() // for whoever waits for it
	case <-pause.C:
	}
	return true
}

func (s *settled) verdict() (word, doubt string) {
	if s.still.passing() {
		return Undecided, fmt.Sprintf("%s, still after %v, which may end", s.still.why(), s.run.plan.Patience)
	}
	own := s.own(stacks.Take()).IDs()
	for _, g := range stacks.Take()[1:] { // one who works, sleeps or waits for I/O may be about to wake one of the run
		if wait := g.Wait(); wait != stacks.WaitOther && wait != stacks.WaitLock && !own[g.ID] && outsider(g) {
			return Undecided, fmt.Sprintf("nobody of the run moves, but %s is not of the run, does [%s] and may end that", g.Where(), g.State)
		}
	}
	return Stall, ""
}

func (s *settled) stacks() []string { return s.still.stacks() }

// left reports whether anybody who is surely of the run is still there.
func (s *settled) left() bool {
	all := s.still.all()
	for _, g := range all {
		if !s.doubt[g.ID] {
			return true
		}
	}
	return len(all) > 0 && labelled(s.label) > 0
}

func (s *settled) reap() {
	begin := time.Now()
	for s.quiesce(); s.left() && s.outlasts(begin); {
		s.quiesce()
	}
	if !s.left() {
		return
	}
	for _, g := range s.still.all() {
		leftBehind.Store(g.ID, nil)
	}
	r := s.run
	if !s.still.passing() || r.verdict != Pass {
		r.leaked(s.still.stacks())
		return
	}
	r.verdict, r.stuck = Undecided, true
	r.why = fmt.Sprintf("the gate is closed and the context cancelled, but %s, still after %v", s.still.why(), r.plan.Patience)
	r.stacks = s.still.stacks()
}

// grace is how long settled runs of a search stand still before that is a
// standstill for good. A timer that waits in a select is in no stack, so the first
// standstill of the search is given the plan's whole patience. After that it is
// known how long timers take here, and the hundreds of runs that shrink and confirm
// a failure need not wait for what did not come then.
type grace struct {
	given   atomic.Bool  // the whole patience, and nothing came
	longest atomic.Int64 // time after which something came
}

// left is what a standstill is given.
func (g *grace) left(patience time.Duration) time.Duration {
	if !g.given.Load() {
		return patience
	}
	return min(patience, 4*time.Duration(g.longest.Load()))
}

// came notes that something came after a standstill of some time.
func (g *grace) came(after time.Duration) {
	for {
		longest := g.longest.Load()
		if int64(after) <= longest || g.longest.CompareAndSwap(longest, int64(after)) {
			return
		}
	}
}

// A label marks the goroutines of a settled run: who is started by one that has it
// has it, too. Stacks do not show it, and a profile that does shows no numbers of
// goroutines; so it tells how many there are, not which.
const labelKey = "mcprec run"

var labels atomic.Uint64 // that were given

// labelled counts who has the label but the caller.
func labelled(label string) int {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return 0
	}
	n := -1
	for record := range strings.SplitSeq(profile.String(), "\n\n") {
		if !strings.Contains(record, fmt.Sprintf("%q:%q", labelKey, label)) {
			continue
		}
		if i := strings.Index(record, " @ "); i >= 0 {
			alike := 0
			_, _ = fmt.Sscan(record[strings.LastIndexByte(record[:i], '\n')+1:i], &alike)
			n += alike
		}
	}
	return n
}
