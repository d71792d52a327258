// Package stream keeps a team's sessions in NATS JetStream: push appends to it, and pull reads it.
//
// # What it promises
//
// What Append acknowledged is what JetStream acknowledged: with three replicas it is in the memory of the
// operating systems of two machines at least, with one replica of one. By default a NATS server syncs its
// files every two minutes only (sync_interval), so that a power cut of a single server, or of all of them at
// once, loses acknowledged events; `sync_interval: always` on the servers closes that hole. A push therefore
// looks at each session once more after a while, and appends again what is missing.
//
// A session is an unbroken beginning of its log at any moment: an append is one message, or an atomic batch of
// messages, and each names the stream sequence of the session's last message before it. Two writers that do
// not know of each other cannot both succeed, and an append that comes late from a writer that is gone is
// refused or is what the next writer would have appended. Heads come from the leader of the stream. A reader
// checks the hash chain of the log: changed bytes are an error (store.ErrCorrupt), and so is a gap.
//
// # Data layout
//
// Two streams hold the sessions. In the stream MCPREC (Options.Stream) each session has a subject,
// "mcprec.s.<session id>". A message is a chunk of whole events (package chunk), or a part of the chunk of
// one large event. Its header Mcprec, a JSON object, tells which events it has and the head of the log behind
// them (message.go).
//
// In the stream MCPREC_META each session has an entry under "mcprec.m.<session id>", of which the server keeps
// the newest: a JSON object with the session's header, where its log ended, and whether a push follows its
// recorder (Entry). An entry says what to look for, and no more: where a log ends is for its last message to
// say. The entry of a live session is written every ten seconds. One that was silent for 35 seconds
// (Options.Lease) is no longer live, by the times of the servers alone.
//
// # Files
//
// options.go is the URL, link.go the connection and what its errors mean, dial.go how it is dialled, streams.go
// makes and checks the two streams, message.go a message, append.go appending, read.go reading and following a
// session, entry.go the entries, stream.go the Stream.
//
// # What it refuses to do
//
// It adds no access control of its own: accounts and permissions are the servers'. It connects to no server
// whose certificate does not verify. It deletes nothing: how long sessions stay is a limit of the streams. It
// does not use streams that drop old events to make room, and does not change a stream that exists. It needs
// NATS server 2.11, and 2.12 for events larger than a message, which are atomic batches.
package stream
