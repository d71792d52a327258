// Package hang says why a run stands still: the category, the waits, and their chain.
//
// # Data layout
//
// [Diagnose] takes a [Scene], a run at rest, and returns a [Diagnosis]. The frames in the
// gate tell most: which request was read and not answered, which frame stands behind another
// frame. A chain goes from an operation to its open call, to the reader that has not come
// back, and so on, to the part that nothing blocks or round the cycle.
//
// In a run with a [Tracer] the stacks tell more: where a goroutine stands, which handler of
// the caller's has not returned, and which goroutine took a request up. A place is named by
// the library's function and the caller's own line.
//
//	hang     the scene, the category, and what each operation waits for
//	chain    the chain of waits
//	cancelled  work that goes on after its cancellation
//	closing  the ends that are closing, and what their Close waits for
//	pool     handlers that are all taken
//	trace    what the stacks of a traced run add
//
// # What it refuses
//
// The package does not decide whether a run hangs: the caller knows. Without a stack it
// claims only facts of the frames.
package hang
