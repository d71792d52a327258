package explore

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

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
	p.next = now.Add(progressEvery)
	p.drawn = true
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
