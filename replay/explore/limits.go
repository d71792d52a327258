package explore

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// cpuBudget returns a function that reports whether the processor time is used up; a limit
// of 0 is none.
func cpuBudget(limit time.Duration, used func() time.Duration) (spent func() bool) {
	begin := used()
	return func() bool { return limit > 0 && used()-begin >= limit }
}

// workTime returns a function that tells the processor time of the process or, where the
// system does not, the wall time of so many workers.
func workTime(workers int) (used func() time.Duration) {
	start := time.Now()
	return func() time.Duration {
		if d, ok := processTime(); ok {
			return d
		}
		return time.Since(start) * time.Duration(max(1, workers))
	}
}

// stopwatch measures how long a peer has computed.
type stopwatch struct {
	start time.Time
	used  time.Duration // by the process, at the start
}

func startStopwatch() stopwatch {
	used, _ := processTime()
	return stopwatch{time.Now(), used}
}

// elapsed returns the lesser of the real time since the start and the processor time of the
// process: on a busy machine, real time passes in which a peer does not compute.
func (w stopwatch) elapsed() time.Duration {
	elapsed := time.Since(w.start)
	if used, ok := processTime(); ok {
		elapsed = min(elapsed, used-w.used)
	}
	return elapsed
}

// limits end a search from outside. No verdict depends on limits: the report leaves out
// unfinished work, or says how much was done.
type limits struct {
	stop  <-chan struct{} // or nil
	until time.Time       // zero: there is time
}

// within returns the limits of a part of the search that may take d from now on.
func (l limits) within(d time.Duration) limits {
	if until := time.Now().Add(d); l.until.IsZero() || until.Before(l.until) {
		l.until = until
	}
	return l
}

// ended says what ended the search; "" while it goes on.
func (l limits) ended() string {
	select {
	case <-l.stop:
		return EndStopped
	default:
	}
	if !l.until.IsZero() && !time.Now().Before(l.until) {
		return EndTime
	}
	return ""
}

// exploreGC is the percentage of the collector while schedules run: each leaves little
// behind, and collecting at 100 % costs more than half of the time.
const exploreGC = 800

var collector struct {
	sync.Mutex
	users  int
	before int
}

// raiseGC raises the percentage of the collector for the process and returns the way back.
// The user's higher percentage, or a collector turned off, is left alone.
func raiseGC() (restore func()) {
	collector.Lock()
	defer collector.Unlock()
	if collector.users++; collector.users == 1 {
		if collector.before = debug.SetGCPercent(exploreGC); collector.before < 0 || collector.before > exploreGC {
			debug.SetGCPercent(collector.before)
		}
	}
	return func() {
		collector.Lock()
		defer collector.Unlock()
		if collector.users--; collector.users == 0 {
			debug.SetGCPercent(collector.before)
		}
	}
}

const (
	progressAfter = time.Second            // a shorter search says nothing
	progressEvery = 200 * time.Millisecond // the line is drawn so often at most
	progressWidth = 79
	eraseLine     = "\r\x1b[K"
)

// progress draws one line on a terminal while a search runs.
type progress struct {
	w     io.Writer
	now   func() time.Time
	begin time.Time
	next  time.Time // when to draw again
	drawn bool
}

// progressing is set while a search has the line of the terminal.
var progressing atomic.Bool

// newProgress returns nil without a terminal to draw on; the methods do nothing then.
func newProgress() *progress {
	info, err := os.Stderr.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || !progressing.CompareAndSwap(false, true) {
		return nil
	}
	p := &progress{w: os.Stderr, now: time.Now}
	p.start()
	return p
}

func (p *progress) start() {
	p.begin = p.now()
	p.next = p.begin.Add(progressAfter)
}

// step draws the line when it is time to.
func (p *progress) step(plan *Plan, done int) {
	if p == nil {
		return
	}
	now := p.now()
	if now.Before(p.next) {
		return
	}
	p.next, p.drawn = now.Add(progressEvery), true
	fmt.Fprint(p.w, eraseLine, progressText(plan, done, now.Sub(p.begin)))
}

// end takes the line away.
func (p *progress) end() {
	if p == nil {
		return
	}
	if p.drawn {
		fmt.Fprint(p.w, eraseLine)
	}
	progressing.Store(false)
}

// progressText is the line: how far the search is, how fast, and where.
func progressText(plan *Plan, done int, elapsed time.Duration) string {
	budget := ""
	if plan.CPU > 0 {
		budget = fmt.Sprintf(" or %v of CPU time", plan.CPU)
	}
	rate := float64(done) / max(elapsed, time.Millisecond).Seconds()
	words := make([]string, len(plan.Capacities))
	for i, c := range plan.Capacities {
		words[i] = c.Short()
	}
	line := fmt.Sprintf("explore: %d of %d schedules%s, %.0f/s, capacities %s",
		done, plan.Schedules, budget, rate, strings.Join(words, ", "))
	if len(line) > progressWidth {
		line = line[:progressWidth-3] + "..."
	}
	return line
}
