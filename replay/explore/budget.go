package explore

import "time"

// budget is the processor time that a search may use.
type budget struct {
	limit time.Duration // 0: any
	begin time.Duration
	used  func() time.Duration
}

func newBudget(limit time.Duration, workers int) *budget {
	b := &budget{limit: limit, used: processorTime}
	if _, ok := processTime(); !ok {
		start := time.Now()
		b.used = func() time.Duration { return time.Since(start) * time.Duration(max(1, workers)) }
	}
	b.begin = b.used()
	return b
}

func processorTime() time.Duration {
	d, _ := processTime()
	return d
}

// spent reports whether the budget is used up.
func (b *budget) spent() bool { return b.limit > 0 && b.used()-b.begin >= b.limit }

// aftermath is the real time that making a failure simple, following its token and trying
// other capacities may take together: where one run takes seconds, hundreds are too many.
const aftermath = time.Minute

// limits end a search from outside. No verdict depends on them: the report leaves out what
// they cut short, or says how much of it was done.
type limits struct {
	stop  <-chan struct{} // nil: nobody stops it
	until time.Time       // zero: there is time
}

// newLimits returns the limits of a plan that is explored from now on, in a test that must
// be done by the deadline, if that is not zero.
func newLimits(p *Plan, deadline time.Time) limits {
	l := limits{stop: p.Stop}
	switch {
	case p.Budget > 0:
		return l.within(p.Budget)
	case !deadline.IsZero():
		return l.within(time.Until(deadline) / 10 * 9)
	}
	return l
}

// within returns the limits of a part of the search that may take d from now on.
func (l limits) within(d time.Duration) limits {
	if until := time.Now().Add(d); l.until.IsZero() || until.Before(l.until) {
		l.until = until
	}
	return l
}

// half returns the limits of a part that leaves as much time to what comes after it.
func (l limits) half() limits {
	if l.until.IsZero() {
		return l
	}
	return l.within(time.Until(l.until) / 2)
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
