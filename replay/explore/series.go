package explore

import (
	"runtime"
	"sync"
)

// series makes numbered runs, several at once, and takes them in the order of
// their numbers, so that the result does not depend on who finishes first.
type series struct {
	from, to int
	make     func(number int) *Run
	take     func(*Run) (more bool)
	over     func() bool // asked before each run, if not nil: no more of them
}

// ahead is how many runs a worker may be ahead of the one that is taken next.
const ahead = 8

// run returns the number after the last that was taken. When take wants no more,
// the runs that are on their way are waited for and forgotten.
func (s *series) run(workers int) int {
	if workers = min(workers, s.to-s.from); workers > 1 {
		return s.parallel(workers)
	}
	for i := s.from; i < s.to; i++ {
		if s.over != nil && s.over() {
			return i
		}
		if !s.take(s.make(i)) {
			return i + 1
		}
	}
	return max(s.from, s.to)
}

type made struct {
	number int
	run    *Run // nil: its goroutine was ended (runtime.Goexit)
}

func (s *series) parallel(workers int) int {
	window := ahead * workers
	numbers, finished := make(chan int, window), make(chan made, window)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() { s.work(numbers, finished) })
	}
	defer all.Wait()
	defer stop(numbers)
	next, taken := s.from, s.from
	waiting := map[int]*Run{}
	for {
		for next < s.to && next < taken+window && (s.over == nil || !s.over()) {
			numbers <- next
			next++
		}
		if taken == next {
			return taken
		}
		m := <-finished
		if m.run == nil {
			runtime.Goexit() // as it would have on this goroutine
		}
		waiting[m.number] = m.run
		for waiting[taken] != nil {
			r := waiting[taken]
			delete(waiting, taken)
			taken++
			if !s.take(r) {
				return taken
			}
		}
	}
}

// stop takes back the numbers that nobody has begun.
func stop(numbers chan int) {
	close(numbers)
	for range numbers {
	}
}

func (s *series) work(numbers <-chan int, finished chan<- made) {
	for n := range numbers {
		s.one(n, finished)
	}
}

func (s *series) one(number int, finished chan<- made) {
	m := made{number: number}
	defer func() { finished <- m }()
	m.run = s.make(number)
}
