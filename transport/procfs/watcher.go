package procfs

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Activity is what could move a tree of processes.
type Activity int

// The activities, those first that count when several hold.
const (
	Busy    Activity = iota // a thread runs, or ran between the two passes
	Full                    // a thread waits for the caller to read
	Outside                 // a thread waits for something that is neither the caller's nor the tree's
	Timed                   // a thread has a timer
	Asleep                  // nothing but the caller can move it
	Ended                   // no process is left
)

// Look is what was seen of a tree of processes.
type Look struct {
	Activity Activity
	Timer    time.Duration // to the nearest timer; negative: there is none
	Outside  []string      // what is waited for outside, such as "socket:[4711]"
	Ours     bool          // a thread waits for something that the caller holds an end of
	Threads  int

	signatures []string // how each thread sleeps, and how long it has run; of one that has ended only its place in /proc
}

// IsSame reports whether no thread has run between two looks.
func (l Look) IsSame(other Look) bool { return slices.Equal(l.signatures, other.signatures) }

// String says what could move the processes, for a sentence that begins with them.
func (l Look) String() string {
	threads := fmt.Sprintf("all %d threads sleep", l.Threads)
	if l.Threads == 1 {
		threads = "its only thread sleeps"
	}
	switch l.Activity {
	case Busy:
		return "it is still running"
	case Full:
		return "it waits for its output to be read"
	case Outside:
		return fmt.Sprintf("%s, and something outside can wake it: %s", threads, strings.Join(l.Outside, ", "))
	case Timed:
		in := l.Timer.Round(100 * time.Millisecond)
		if in == 0 {
			return threads + ", and its next timer is due"
		}
		return fmt.Sprintf("%s, and its next timer is in %v", threads, in)
	case Ended:
		return "it has ended"
	}
	return threads + ", none on a timer"
}
