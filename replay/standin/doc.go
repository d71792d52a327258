// Package standin plays one half of a recorded session to a live end: the server's half to
// a live client, or the client's half to a live server.
//
// # Data layout
//
// [Player] plays the server's half and [Driver] the client's. Both are pure machines:
// frames in, frames out; no I/O, no clock, no goroutine. Each holds the recorded messages of
// the live end, which it waits for, and the recorded frames of its own end, which it sends
// when everything before them has happened. Either may be allowed to reorder: to send in any
// order that the specification allows.
//
// [Serve] and [Drive] are the shells: they play a Player or a Driver over a connection, with
// a reader, a writer and a [Pacer]. A [Live] server may stand behind a Player and answer
// what was not recorded; [Extend] puts that into the session.
//
// Over HTTP a frame has the number of its exchange. It pairs an answer with its request
// where two clients use the same id. An [Endpoint] gives each session of a client a Player,
// [Dial] makes the client of a Driver. Both tell the transport what the recording says
// around the frames: status, form, ids of events, cuts.
//
// How the live end's messages compare with the recorded ones is a list of
// [match.StepVerdict].
//
// # What it refuses
//
// A Player and a Driver are not safe for concurrent use. They invent no answer, but to a
// ping and to server/discover: a request that was not recorded gets an error that names the
// nearest recorded one.
package standin
