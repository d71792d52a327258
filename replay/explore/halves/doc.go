// Package halves plays one half of a recorded session on an end of the gate, or both.
//
// # Data layout
//
// A [Session] is shared by all runs of a search. [Server] answers a live client from it,
// [Client] says to a live server what was recorded; both return a [Recorded], a machine of
// package standin with a reader and a writer. [Models] play both halves, each under an
// endpoint model of package replay, without a live peer.
//
// The calls of a half are operations of the run: the half begins and finishes them. A live
// server owes each call of a recorded client a response unless the client cancelled it, also
// where the recorded server gave none: a recording is often cut where it hung.
//
// # What it refuses
//
// A half has no clock. Where it waits for the live end in vain, it says so
// ([Recorded.Waits]) and goes on only when the engine tells it to ([Recorded.Relent]).
package halves
