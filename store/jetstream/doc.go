// Package jetstream keeps sessions in NATS JetStream: a store that recorders on many machines write to
// and that anybody reads, while the sessions are live.
//
// # What it promises
//
// What Append acknowledged is what JetStream acknowledged: with three replicas it is in the memory of
// the operating systems of two machines at least ("quorum"), with one replica of one ("process"). By
// default a NATS server syncs its files every two minutes only (sync_interval), so that a power cut of
// a single server, or of all of them at once, loses acknowledged events; `sync_interval: always` on
// the servers closes that hole. Recorders therefore keep their spools for a while after the
// acknowledgement, look at the head again, and append again what is missing.
//
// A session is an unbroken beginning of the log at any moment: an append is one message, or an atomic
// batch of messages, and each names the stream sequence of the session's last message before it. Two
// writers that do not know of each other cannot both succeed. Heads come from the leader of the stream.
// Bytes that have changed are an error (store.ErrCorrupt), and so is a gap; neither is passed over.
//
// A session is live while a claim holds it. The holder writes the session's entry every ten seconds; a
// holder that was silent for 35 seconds (Options.Lease) has died, and another may claim the session.
// That is judged by the times of the servers alone: the time of the entry's message, and the time in the
// stream's information. A holder that comes back after another has claimed the session cannot append any
// more, whatever it knows: the new holder has put a fence into the session's subject first.
//
// # Data layout
//
// Two streams hold a store. In the stream MCPREC (Options.Stream) each session has a subject,
// "mcprec.s.<session id>". A message is a chunk of whole events (package chunk), or a part of the chunk of
// one large event, or a fence, which has no events. The header Mcprec of a message tells the session up
// to there (message.go):
//
//	v=1 first=65 last=128 part=1/1 at=1200000 chain=<hex> frames=120 bytes=91823 lost=0 doubtful=0
//	sealed=0 exit= writer=<token> sum=<CRC-32C>
//
// In the stream MCPREC_META each session has an entry under "mcprec.m.<session id>", of which the server
// keeps the newest: the header, counts and head of the session, who holds it, and whether the head is
// final ("settled"; entry.go). A listing reads the entries, and asks for the last message of sessions that
// are not settled. A session's summary is beside its entry, under "mcprec.m.<session id>.summary", and a mark
// is there, ".irregular", if the id does not tell about when the session began: with it a listing of the
// newest sessions reads the names of all entries, and few entries. The entry of a deleted session stays,
// as its tombstone.
//
// A writer makes the session's entry unsettled first, and settles it last. A writer that finds an
// unsettled entry without a holder puts a fence first, so that a message on its way from a dead or slow
// writer comes too late. Of a deleted session a fence stays, too, for the same reason.
//
// # Files
//
// options.go is the URL, link.go the connection and what its errors mean, dial.go how it is dialled,
// streams.go makes and checks the two streams, message.go the header of a message, logs.go the stream of
// chunks, entry.go and meta.go the entries, store.go the Store, append.go appending and claiming, claim.go
// what a claim does, read.go reading and following, list.go listing, summary.go summaries, inspect.go what
// mcprec store doctor asks.
//
// # What it refuses to do
//
// It adds no access control of its own: accounts and permissions are the server's. It connects to no
// server whose certificate does not verify. It does not use streams that drop events by age or size, and
// does not change a stream that exists. It needs a NATS server 2.11, and 2.12 for appends larger than one
// message, which are atomic batches.
package jetstream
