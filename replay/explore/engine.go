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
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/replay/explore/stacks"
)

// engine keeps a run still between steps, and gives the verdict when no step is left. The
// goroutine of the run calls every method except await.
type engine interface {
	// settle returns when only a step or time can move the run.
	settle()
	// rest lets time pass until a frame or a call arrives at the gate; false: none came in the
	// longest time since then, or, where time is real, in the plan's patience.
	rest(since time.Time, longest time.Duration) bool
	// rests says how the run stood when it last was at rest.
	rests() standing
	// verdict names a run in which no step can go on since some time has passed, with the doubt
	// that is left, or "".
	verdict(passed string) (word, doubt string)
	// stacks returns the trimmed stacks of the run's goroutines.
	stacks() []string
	// own returns the goroutines of the run in a dump.
	own(all stacks.Dump) stacks.Dump
	// live calls do where the engine sees every goroutine, and returns when do has ended or
	// the run was given up. It returns what is left then, or nil.
	live(t *testing.T, do func()) *remains
	// call calls Setup or Check. It reports false when the call will not return.
	call(do func()) bool
	// reap ends the goroutines that a shut gate and a cancelled context leave, and returns those
	// that do not end, or nil.
	reap() *remains
	// await waits, from outside, for live to end. It returns a freeze when the engine had
	// to give the run up.
	await(ended <-chan any) (thrown any, freeze *freeze)
}

// standing is how a run stood at rest.
type standing struct {
	atMutex bool   // a goroutine waits for a mutex
	locked  string // where one first did
	raced   bool   // the race detector has reported a race
}

// remains are the goroutines that are left of a run.
type remains struct {
	stacks []string // trimmed
	doubt  string   // why they may still end, or ""
}

// newEngine returns the engine that the terms of a run name.
func newEngine(terms *terms, peers *peers, crash *crashToken) engine {
	if terms.settles() {
		return &settled{plan: terms.plan, peers: peers, crash: crash, known: map[int]bool{}, doubt: map[int]bool{}, still: &freeze{}}
	}
	return &bubble{terms: terms, peers: peers, crash: crash}
}

// bubble is the engine that proves: a testing/synctest bubble, with virtual time.
type bubble struct {
	terms *terms
	peers *peers
	crash *crashToken
	standing

	name string // of the bubble in stacks
	test *testing.T
	met  map[int]bool // numbers of the goroutines that looks have seen in the bubble

	resting atomic.Bool   // virtual time passes
	weary   atomic.Bool   // it took as much real time as a peer may compute: see await
	looks   atomic.Uint64 // of the watcher in await
}

// firstYields is how often a bubble yields before the first look at the stacks, and mostYields
// before a later look: each look stops the world.
const (
	firstYields = 20
	mostYields  = 1 << 14
	mostAstray  = 50 // looks for a goroutine that may be of the bubble
)

// live checks for leaks by the panic of synctest. A hang makes no panic: the engine sees
// that no step is enabled and shuts the run down. Goroutines that do not end then leave the
// bubble to synctest, which panics. The check is free, and counts only this bubble.
func (b *bubble) live(t *testing.T, do func()) (left *remains) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if err, ok := v.(error); !ok || !strings.HasPrefix(err.Error(), "deadlock: ") {
			panic(v)
		}
		b.peers.moves.Tick() // a run that was given up may end like this, too: its report is made
		left = &remains{stacks: stacks.Take().Bubble(b.name).Trim()}
	}()
	synctest.Test(t, func(inner *testing.T) {
		deepen(0)
		b.name, b.test = stacks.Self().Bubble, inner
		b.crash.label() // no sooner: a look at the stack prints it, which takes time
		do()
	})
	return nil
}

// deepen grows the stack of the run's goroutine once, while there is little on it to copy. A run
// would grow it step by step.
//
//go:noinline
func deepen(i int) byte {
	var room [8 << 10]byte
	return room[i]
}

// settle returns when every goroutine of the bubble waits. synctest.Wait is the fast way, but
// does not return while a goroutine waits for a mutex, as behind a Write that another goroutine
// makes with the mutex held. A run that watches reads the stacks instead.
func (b *bubble) settle() {
	b.peers.moves.Tick() // a watcher that gives the run up reads what this goroutine has written
	if b.terms.watches {
		b.atMutex = b.look()
		b.peers.moves.Tick()
	}
	if !b.atMutex {
		synctest.Wait()
	}
	// Nothing but a data race fails the bubble's own test: testing asks the race detector.
	b.raced = b.raced || b.test.Failed()
	b.peers.moves.Tick()
}

func (b *bubble) rests() standing { return b.standing }

// look reads the stacks until they show that every goroutine of the bubble waits, and reports
// true if only mutexes and durable waits are among them. The stacks are taken while the world
// is stopped: if no goroutine of the bubble runs, none will before the engine does. It reports
// false for a wait that ends from outside, or if nobody waits for a mutex: synctest.Wait then
// tells when the bubble is at rest.
func (b *bubble) look() (rests bool) {
	astray := 0
	for yields := firstYields; ; yields = min(2*yields, mostYields) {
		for range yields {
			runtime.Gosched()
		}
		all := stacks.Take()
		f := freezeOf(all, b.name)
		switch {
		case len(f.busy) > 0:
		case astray < mostAstray && b.astray(all):
			astray++
		case len(f.foreign)+len(f.io)+len(f.calls) > 0, len(f.locks) == 0:
			return false
		default:
			if b.locked == "" {
				b.locked = f.locks[0].Where()
			}
			return true
		}
	}
}

// astray reports whether a running goroutine may be of the bubble although the stacks do not say
// so: the runtime takes a goroutine out of its bubble while it assists the garbage collector.
// The caller comes first in the dump.
func (b *bubble) astray(all stacks.Dump) bool {
	if b.met == nil {
		b.met = map[int]bool{}
	}
	for _, g := range all {
		if g.Bubble == b.name {
			b.met[g.ID] = true
		}
	}
	for _, g := range all[1:] {
		if g.Bubble != "" || g.Wait() != stacks.WaitNone {
			continue
		}
		parent := all.Find(g.Parent)
		if b.met[g.ID] || b.met[g.Parent] || parent.Text == "" || parent.Wait() == stacks.WaitNone {
			return true
		}
	}
	return false
}

func (b *bubble) rest(since time.Time, longest time.Duration) bool {
	gate := b.peers.gate
	gate.Lock() // goroutines woken by timers must come after the engine's reads
	//lint:ignore SA2001 the lock only puts them in this order
	gate.Unlock()
	select { // arrivals before are in no step: they wait for others
	case <-gate.Poked():
	default:
	}
	if b.terms.watches { // time passes only while nobody waits for a mutex: see await
		synctest.Wait()
		b.peers.moves.Tick()
	}
	came := b.pass(since.Add(longest), gate.Poked())
	b.settle()
	select { // the last timers may have fired in the same instant
	case <-gate.Poked():
		came = true
	default:
	}
	return came
}

// pass lets virtual time pass until comes receives, and reports whether it did. Timers of
// the peers that fire again and again, for a retry or a poll outside of the gate, make a day
// of virtual time last for hours. Time passes in steps, after each of which the watcher in await
// may end the rest. As long as the watcher has not looked, so that time passes quickly, a step is
// 15 times as long as the time before, later a quarter. Every run ends with a day of it, so the
// steps are few.
func (b *bubble) pass(until time.Time, comes <-chan struct{}) (came bool) {
	b.resting.Store(true)
	defer b.resting.Store(false)
	looks := b.looks.Load()
	passed := time.Microsecond
	timer := time.NewTimer(min(passed, time.Until(until)))
	defer timer.Stop()
	for {
		select {
		case <-comes:
			return true
		case <-timer.C:
		}
		if b.weary.Load() || !time.Now().Before(until) {
			return false
		}
		step := 15 * passed
		if b.looks.Load() != looks {
			step = passed / 4
		}
		timer.Reset(min(step, time.Until(until)))
		passed += step
	}
}

func (b *bubble) verdict(passed string) (word, doubt string) {
	if b.weary.Load() {
		return Undecided, fmt.Sprintf("timers of the peers fire again and again, and use the gate for nothing: "+
			"after %s a timer might still change what is here. With a Horizon below that the run is judged, "+
			"and a longer Patience gives it more time", passed)
	}
	return Hang, ""
}

// call ends with the bubble, or is frozen in the bubble, if do does not return.
func (b *bubble) call(do func()) bool {
	do()
	return true
}

func (b *bubble) stacks() []string { return stacks.Take()[1:].Bubble(b.name).Trim() }

// own finds the bubble by the caller, who comes first in the dump.
func (b *bubble) own(all stacks.Dump) stacks.Dump { return all.Bubble(all[0].Bubble) }

// reap gives sleepers virtual time, which stops when the first goroutine of the bubble
// returns.
func (b *bubble) reap() *remains {
	b.weary.Store(false)
	b.pass(time.Now().Add(b.terms.plan.Horizon), nil)
	b.settle()
	return nil
}

// await gives the run up when the bubble cannot go on: synctest.Wait never returns while a
// goroutine waits for a mutex, for a channel from outside, or for I/O. The stacks show a
// freeze, in which every goroutine waits. The age of the freeze matters only because a
// goroutine outside the bubble may be about to end the freeze.
func (b *bubble) await(ended <-chan any) (thrown any, f *freeze) {
	moves, stamina := &b.peers.moves, b.terms.plan.stamina
	timer := time.NewTimer(firstLook)
	defer timer.Stop()
	var seen uint64
	var last *freeze
	var since time.Time
	moved, longest := startStopwatch(), stamina
	for pause := firstLook; ; timer.Reset(pause) {
		select {
		case thrown = <-ended:
			return thrown, nil
		case <-timer.C:
		}
		b.looks.Add(1)
		n := moves.Count()
		if n == 0 || n != seen {
			seen = n
			last = nil
			pause = firstLook
			moved, longest = startStopwatch(), stamina
			continue
		}
		pause = min(2*pause, time.Second) // a peer computes: every look stops the world
		f := freezeOf(stacks.Take(), b.name)
		switch {
		case !f.frozen():
			last = nil
			elapsed := moved.elapsed()
			if elapsed < longest {
				continue
			}
			if b.resting.Load() && !b.weary.Swap(true) { // the step of time may take as long again: see pass
				moved, longest = startStopwatch(), 2*elapsed
				continue
			}
			if len(f.busy) > 0 && moves.Abandon(n) {
				return nil, f
			}
		case last == nil || !last.same(f):
			last = f
			since = time.Now()
			pause = firstLook
		case time.Since(since) >= f.patience(b.terms) && moves.Abandon(n):
			return nil, f
		default:
			pause = min(pause, f.patience(b.terms))
		}
	}
}

// settled is the engine for peers that cannot live in a bubble. The run stands still when
// two looks in a row at the stacks of the whole process show every goroutine of the run
// waiting at the same place.
//
// Time is real. Stacks show a sleeper and a wait for I/O, but not the timer of a select or
// a context: rest is no proof.
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

func (s *settled) live(_ *testing.T, do func()) *remains {
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

func (s *settled) settle() {
	select { // the next look sees what arrived before
	case <-s.peers.gate.Poked():
	default:
	}
	s.quiesce()
	s.peers.moves.Tick()
}

func (s *settled) rests() standing { return standing{} }

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

// rest gives waiting goroutines real time, up to the patience of the plan after the last
// step that was not periodic.
func (s *settled) rest(since time.Time, _ time.Duration) bool {
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

func (s *settled) reap() *remains {
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
	r := &remains{stacks: s.still.stacks()}
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
