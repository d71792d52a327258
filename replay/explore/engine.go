package explore

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
