package explore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Engine chooses how a run is kept still between its steps.
type Engine string

const (
	// Bubble is the default: a testing/synctest bubble. Its time is virtual, and it
	// proves hangs.
	Bubble Engine = "a"
	// Settle takes stacks of the whole process until nobody of the run moves. It is
	// for peers that cannot live in a bubble. Its time is real, and what it finds
	// is a [Stall].
	Settle Engine = "b"
)

// passed says how long ago the run last came to rest. Of real time a report has
// seconds: the rest would be another every time.
func (r *Run) passed() string {
	passed := time.Since(r.since)
	if r.kind == Settle {
		return fmt.Sprintf("%v of real time", passed.Round(time.Second))
	}
	return fmt.Sprintf("%v of virtual time", passed)
}

// retry runs a schedule that froze its bubble where time is real, and notes what
// that gives. It lets time pass for whatever timer there may be.
func (s *search) retry(report *Report, token Token) {
	r := s.newRun(token.Capacity)
	r.kind, r.token, r.level, r.patient = token.Engine, &token, token.Level, true
	r.play(s.t, s.plan)
	text := strings.TrimSpace(r.verdict + " " + r.category)
	if r.why != "" {
		text += ": " + r.why
	}
	report.Notes = append(report.Notes, fmt.Sprintf("in real time (engine %s) the same schedule gives: %s", Settle, text))
}

// bubble is the engine that proves: a testing/synctest bubble, where time is
// virtual and a wait is known to be one.
type bubble struct {
	run  *Run
	mark string // of the bubble in stacks

	resting atomic.Bool // virtual time passes, with nothing enabled
	weary   atomic.Bool // it has passed for as much real time as a peer may compute: see await
}

// A hang needs no panic of synctest: the engine sees that nothing is enabled and
// ends what it can. Only goroutines that nothing ends leave the bubble to
// synctest, which then panics here. That is the check for leaks too: it costs
// nothing, and counts no goroutines of others.
func (b *bubble) live(t *testing.T, do func()) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if err, ok := v.(error); !ok || !strings.HasPrefix(err.Error(), "deadlock: ") {
			panic(v)
		}
		b.run.leaked(trimStacks(ofBubble(snapshot(), b.mark)))
	}()
	synctest.Test(t, func(*testing.T) {
		b.mark = bubbleMark(stackHead())
		do()
	})
}

func (b *bubble) settle() {
	synctest.Wait()
	b.run.gate.tick()
}

// In rest virtual time passes, up to the horizon after the last
// step that was not a ping.
func (b *bubble) rest() bool {
	r := b.run
	r.gate.hold() // what timers wake must come after all that the engine read
	r.gate.free()
	select { // what arrived before is in no step: it waits for others
	case <-r.gate.poked:
	default:
	}
	came := b.pass(r.since.Add(r.horizon), r.gate.poked)
	synctest.Wait()
	r.gate.tick()
	select { // the last timers may have fired in the same instant
	case <-r.gate.poked:
		came = true
	default:
	}
	return came
}

// pass lets virtual time pass until something comes, and reports whether it did. Peers
// whose own timers fire all the time, for a retry or a poll that uses the gate for
// nothing, make a day of it last for hours: so time passes in steps, each a quarter
// of all before it, and after each it is asked whether that has lasted for too long.
func (b *bubble) pass(until time.Time, comes <-chan struct{}) (came bool) {
	b.resting.Store(true)
	defer b.resting.Store(false)
	step := time.Microsecond
	timer := time.NewTimer(min(step, time.Until(until)))
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
		timer.Reset(min(step, time.Until(until)))
		step += step / 4
	}
}

func (b *bubble) verdict() (word, doubt string) {
	if b.weary.Load() {
		return Undecided, fmt.Sprintf("timers of the peers fire again and again, and use the gate for nothing: after %s a timer might still change what is here. "+
			"With a Horizon below that the run is judged, and a longer Patience gives it more time", b.run.passed())
	}
	return Hang, ""
}

// Where the call does not return, the bubble ends with it or is frozen.
func (b *bubble) call(do func()) bool {
	do()
	return true
}

func (b *bubble) stacks() []string { return trimStacks(ofBubble(snapshot()[1:], b.mark)) }

// The caller, who comes first, is in the bubble, or the run was given up and looked at
// from outside.
func (b *bubble) own(all []string) []string { return ofBubble(all, bubbleMark(all[0])) }

// Sleepers get virtual time: it stops when the bubble's first goroutine returns.
func (b *bubble) reap() {
	b.weary.Store(false)
	b.pass(time.Now().Add(b.run.horizon), nil)
	b.settle()
}

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
	label string       // of its goroutines: see others
	still *freeze      // what those of the run wait for, at the last look
}

// settling is held by the one run in the process that is settled: goroutines
// whose parent nobody has seen delay it, as if they were its own.
var settling sync.Mutex

func (s *settled) live(_ *testing.T, do func()) {
	settling.Lock()
	defer settling.Unlock()
	for i, g := range goroutines(snapshot()) {
		s.known[g.id] = i == 0 // the caller comes first
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
		if s.quiesce(); s.still.passing() {
			since = time.Now()
		}
		if len(ended) == 0 && !s.outlasts(since) {
			return false
		}
	}
}

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
	for range 20 { // taking stacks stops the world
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

// ownOf returns those of the run in a snapshot.
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

// In rest who waits gets real time, up to the plan's patience after
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

func (s *settled) verdict() (word, doubt string) {
	if s.still.passing() {
		return Undecided, fmt.Sprintf("%s, still after %v, which may end", s.still.why(), s.run.plan.Patience)
	}
	own := map[int]bool{}
	for _, g := range s.members() {
		own[g.id] = true
	}
	for _, g := range goroutines(snapshot()[1:]) { // one who works, sleeps or waits for I/O may be about to wake one of the run
		if wait := g.wait(); wait != waitOther && wait != waitLock && !own[g.id] && g.outsider() {
			return Undecided, fmt.Sprintf("nobody of the run moves, but %s is not of the run, does [%s] and may end that", g.place(), g.state)
		}
	}
	return Stall, ""
}

func (s *settled) stacks() []string { return s.still.stacks() }

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
	return len(all) > 0 && others(s.label) > 0
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
		leftBehind.Store(g.id, nil)
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

// Judge is Search where there is no test. What is wrong with the plan is an
// error; what the runs gave is in the report.
//
// The bubbles are the same: testing/synctest wants a *testing.T only to hang the
// T of the bubble on, and an empty one will do. Nothing is printed, no flag is
// defined, and the process does not end with it.
func Judge(p Plan) (Report, error) {
	if p.Setup == nil {
		return Report{}, errors.New("explore: the plan has no Setup")
	}
	if p.Token != "" {
		if _, err := ParseToken(p.Token); err != nil {
			return Report{}, err
		}
	}
	return explore(new(testing.T), p, time.Time{}), nil
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

// others counts who has the label but the caller.
func others(label string) int {
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
