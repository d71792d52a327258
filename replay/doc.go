// Package replay plays both halves of a recording to each other through two bounded lanes
// and says whether they hang: the closed replay. replay/standin plays one half to a live
// end, and replay/explore tries other orders of the steps.
//
// # Promises
//
// Everything here that decides is pure: no I/O, no clock, no goroutine. The same
// recording and the same [Setup] give the same [Verdict] on every machine, and
// "HANG (proved)" is said only where no order of steps could have gone on.
//
// A [Recording], a [Verdict] and the other plain values may be shared by
// goroutines; a projection, a [standin.Player], a [standin.Driver] and a [Half] belong to one.
//
// # Data layout
//
// A [timeline.Projection] is a fold over a session's events, in Seq order: [timeline.Transcript]
// makes a line of each event as it passes and remembers only the calls in
// flight, [timeline.Calls] pairs requests with their responses.
//
// [Load] folds a session into a [Recording] for the closed replay. It holds the
// frames in recorded order, and of each frame its number in its direction (from
// 1, as [transport.Lane] counts) and how many frames of the other direction were
// recorded before it. No payload is kept, only what names a frame in a report.
//
// The closed replay lets both ends of a recording play their half through two
// bounded lanes. A [Model] says how an end's reader and writer depend on each
// other. Whatever the model, an end comes down to two rising lists of numbers,
// its script:
//
//	need[k]  frames it has read before it sends its frame k+1
//	hold[j]  its own frames that were taken before it reads on after j frames
//
// Every wait is thus "after the n-th of …", nothing competes for anything, and
// every order of steps ends in the same place: one run decides.
//
// A script is sound when need[k] counts only frames recorded before frame k+1
// and need[hold[j]-1] <= j, that is when no end waits for itself. Two sound
// scripts always come to their end when both lanes are unbounded: of all frames
// that would be stuck the one recorded first has nothing to wait for. The free,
// inline and rigid models make sound scripts of every recording. The inbox and
// serial models do not, and that is their fault, not the transport's: the loop
// stands where what it waits for is behind what it holds, and the script says where.
//
// A session is at its end when every frame was taken, and read where somebody waits
// for it. Behind a request that is never answered a serial loop leaves the rest
// unread: that is no hang where the rest is notifications.
//
// [Half] is one end under a model, for programs with a transport of their own.
//
// # What it refuses
//
// It does not guess: a closed replay proves a hang for the two models it was
// given, not for the programs that were recorded, and where a model had to
// assume what a tap between the ends cannot see, the verdict says so. The closed
// replay plays HTTP streams as one lane each way, with a warning.
package replay
