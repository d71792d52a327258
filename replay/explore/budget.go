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
