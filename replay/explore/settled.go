package explore

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/explore/stacks"
)

// settled is the engine for peers that cannot live in a bubble. The run stands still when
// two looks in a row at the stacks of the whole process show every goroutine of the run
// waiting at the same place.
//
// Time is real. Stacks show a sleeper and a wait for I/O, but not the timer of a select or
// a context: a standstill is no proof.
type settled struct {
	plan  *Plan
	peers *peers
	crash *crashToken
	known map[int]bool // goroutines seen, and whether they are of the run
	doubt map[int]bool // goroutines that count as the run's because the parent is unknown
	label string       // of the run's goroutines: see labelled
	still *freeze      // the last look
}

// settling is held by the one settled run of the process: a goroutine with an unknown parent
// delays every run.
var settling sync.Mutex

func (s *settled) host(_ *testing.T, do func()) *remains {
	settling.Lock()
	defer settling.Unlock()
	for i, g := range stacks.Take() {
		s.known[g.ID] = i == 0 // the caller comes first
	}
	s.label = fmt.Sprint(labels.Add(1))
	s.crash.label(labelKey, s.label)
	do()
	return nil
}

// await only waits: the engine gives up from within.
func (s *settled) await(ended <-chan any) (thrown any, freeze *freeze) { return <-ended, nil }

// call uses a goroutine of its own, which may be left behind.
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

func (s *settled) waitUntilStill() {
	select { // the next look sees what arrived before
	case <-s.peers.gate.Poked():
	default:
	}
	s.quiesce()
	s.peers.moves.Tick()
}

func (s *settled) state() standing { return standing{} }

// quiesce returns when two looks in a row show the same standstill. When a peer has worked
// for too long and the run has not moved, quiesce gives the run up.
func (s *settled) quiesce() {
	for range 20 { // taking stacks stops the world
		runtime.Gosched()
	}
	var last *freeze
	var seen uint64
	moved := startStopwatch()
	for pause := 20 * time.Microsecond; ; {
		moves := s.peers.moves.Count()
		f := &freeze{}
		for _, g := range s.own(stacks.Take()) {
			f.add(g)
		}
		// A system call not known to wait counts as work, unless the call lasts.
		works := slices.ContainsFunc(f.calls, func(g stacks.Goroutine) bool { return g.Wait() == stacks.WaitSyscall })
		waits := len(f.busy) == 0 && (!works || time.Since(moved.start) >= s.plan.Patience)
		if waits && last != nil && moves == seen && last.same(f) {
			s.still = f
			return
		}
		if moves != seen {
			moved = startStopwatch()
		}
		switch {
		case !waits:
			if len(f.busy) > 0 && moved.elapsed() >= s.plan.stamina && s.peers.moves.Abandon(moves) {
				panic(f)
			}
			f = nil
			time.Sleep(pause)
			pause = min(2*pause, 5*time.Millisecond)
		case len(f.io)+len(f.calls) > 0: // a write may not have woken its reader yet
			time.Sleep(time.Millisecond)
		}
		last, seen = f, moves
	}
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

// owns reports whether a goroutine belongs to the run: it started during the run, from a
// goroutine of the run or from an unknown parent. A goroutine in a bubble never belongs.
func (s *settled) owns(goroutine stacks.Goroutine, all map[int]stacks.Goroutine) bool {
	own, ok := s.known[goroutine.ID]
	if ok {
		return own
	}
	parent, there := all[goroutine.Parent]
	switch {
	case goroutine.Bubble != "" || strings.Contains(goroutine.Text, "\nos/signal.loop("):
		// The process has a single signal loop, which any goroutine may have started.
		own = false
	case there:
		own = s.owns(parent, all)
	default:
		own, ok = s.known[goroutine.Parent]
		own = own || !ok
		s.doubt[goroutine.ID] = !ok
	}
	if s.doubt[goroutine.Parent] {
		s.doubt[goroutine.ID] = own
	}
	s.known[goroutine.ID] = own
	return own
}

// passTime gives waiting goroutines real time, up to the patience of the plan after the last
// step that was not periodic.
func (s *settled) passTime(since time.Time, _ time.Duration) bool {
	for {
		select {
		case <-s.peers.gate.Poked():
			if !s.still.passing() {
				longest := &s.plan.grace.longest
				*longest = max(*longest, time.Since(since))
			}
			return true
		default:
		}
		if !s.outlasts(since) {
			return false
		}
		s.quiesce()
	}
}

// outlasts lets a moment pass for the waiting goroutines. It reports false when there is no
// goroutine, or the patience has ended.
func (s *settled) outlasts(since time.Time) bool {
	p := s.plan
	left := p.Patience
	if !s.still.passing() {
		left = p.grace.left(p.Patience)
	}
	if len(s.still.all()) == 0 {
		return false
	}
	if time.Since(since) >= left {
		p.grace.given = p.grace.given || left == p.Patience && !s.still.passing()
		return false
	}
	pause := time.NewTimer(5 * time.Millisecond)
	defer pause.Stop()
	select {
	case <-s.peers.gate.Poked():
		s.peers.gate.Poke() // for the next receive
	case <-pause.C:
	}
	return true
}

func (s *settled) verdict(string) (word, doubt string) {
	if s.still.passing() {
		return Undecided, fmt.Sprintf("%s, still after %v, which may end", s.still.why(), s.plan.Patience)
	}
	own := s.own(stacks.Take()).IDs()
	for _, g := range stacks.Take()[1:] { // a worker or sleeper outside may be about to wake the run
		if wait := g.Wait(); wait != stacks.WaitOther && wait != stacks.WaitLock && !own[g.ID] && outsider(g) {
			return Undecided, fmt.Sprintf("nobody of the run moves, but %s is not of the run, does [%s] and may end that",
				g.Where(), g.State)
		}
	}
	return Stall, ""
}

func (s *settled) stacks() []string { return s.still.stacks() }

// left reports whether a goroutine is still there that is surely of the run.
func (s *settled) left() bool {
	all := s.still.all()
	for _, g := range all {
		if !s.doubt[g.ID] {
			return true
		}
	}
	return len(all) > 0 && labelled(s.label) > 0
}

func (s *settled) reap(func() bool) *remains {
	begin := time.Now()
	for s.quiesce(); s.left() && s.outlasts(begin); {
		s.quiesce()
	}
	if !s.left() {
		return nil
	}
	for _, g := range s.still.all() {
		leftBehind.Store(g.ID, nil)
	}
	r := &remains{stacks: s.still.stacks}
	if s.still.passing() {
		r.doubt = fmt.Sprintf("%s, still after %v", s.still.why(), s.plan.Patience)
	}
	return r
}

// grace is how long the settled runs of a search stand still before a standstill is final.
// A timer in a select is in no stack, so the first standstill of the search is given the
// whole patience of the plan. From then on the slowest timer is known, and the hundreds of
// runs that shrink and confirm a failure wait four times as long. settling guards the
// fields.
type grace struct {
	given   bool          // the whole patience, in vain
	longest time.Duration // of a standstill that a timer ended
}

// left returns how long a standstill is waited for.
func (g *grace) left(patience time.Duration) time.Duration {
	if !g.given {
		return patience
	}
	return min(patience, 4*g.longest)
}

// labelKey marks the goroutines of a settled run: goroutines inherit the label. Stacks do
// not show labels, and a profile with labels has no numbers of goroutines: labels only tell
// how many goroutines there are.
const labelKey = "mcprec run"

var labels atomic.Uint64 // so far

// labelled counts the goroutines with the label, without the caller.
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
