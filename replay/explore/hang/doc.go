// Package hang says why a run stands still: the category, who waits for what, and the chain
// of waits.
//
// # Data layout
//
// [Diagnose] takes a [Scene], a run at rest, and returns a [Diagnosis]. The frames in the
// gate tell most of it: which request was read and not answered, which frame stands behind
// which. A chain goes from an operation to the call that it waits for, to the reader that
// has not come back, and so on, to the part that nothing blocks or round the cycle.
//
// In a run with a [Tracer] the stacks tell more: where a goroutine stands, which handler of
// the caller's has not returned, and which goroutine took a request up. A place is named by
// the library's function and the caller's own line.
//
// # What it refuses
//
// It does not decide whether a run hangs: its caller knows that. Without a stack it says
// nothing that only a stack can show.
package hang
