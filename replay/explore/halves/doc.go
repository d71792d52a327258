// Package halves plays one half of a recorded session on an end of the gate, or both.
//
// # Data layout
//
// The runs of a search share a [Session]. [Server] answers a live client from the session,
// [Client] sends the recorded frames to a live server; both return a [Recorded], a machine
// of package standin with a reader and a writer. [Models] play both halves, each under an
// endpoint model of package replay/closed, without a live peer.
//
// [HTTPClient] and [HTTPServer] play over HTTP, with the transport of package streamable between the
// machine and the gate.
//
// The calls of a half are operations of the run: the half begins and finishes them. A live
// server owes each call of a recorded client a response unless the client cancelled the
// call, even where the recorded server did not respond: a recording often ends at the hang.
//
// # What it refuses
//
// A half has no clock. A half that waits for the live end in vain reports the wait
// ([Recorded.Waits]) and goes on when the engine allows ([Recorded.Relent]).
package halves
