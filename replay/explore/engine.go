package explore

import "time"

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

// clock names the engine's time.
func (e Engine) clock() string {
	if e == Settle {
		return "real time"
	}
	return "virtual time"
}

// passed is the time since the run last came to rest. Of real time a report has
// seconds: the rest would be another every time.
func (r *Run) passed() time.Duration {
	passed := time.Since(r.since)
	if r.kind == Settle {
		passed = passed.Round(time.Second)
	}
	return passed
}
