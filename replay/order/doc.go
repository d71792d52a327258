// Package order holds the rules of the Model Context Protocol about the order of
// messages: which messages a peer may send, given the messages sent and received before.
//
// # Promises
//
// A [Checker] is pure: no I/O, no clock, no goroutine; one goroutine at a time may
// use it. It judges each frame at the beginning of the Write, by the sender's knowledge at
// that time: a peer is never blamed for a frame still on the way to it. It applies the rules
// of the session's own revision, 2024-11-05 to 2026-07-28; until a revision is settled, only
// the rules common to every revision.
//
// A [Violation] of a MUST is an [Error], of a SHOULD a [Warning]. Where pages of the
// specification disagree, or an honest peer may race into a violation, the severity is a
// warning, never an error.
//
// # Rules
//
//	P1   requests.go: a response answers a request that was received, once
//	P2   requests.go: ids are not reused
//	P3   requests.go: progress belongs to a received request, precedes its response, and rises
//	P4   lifecycle.go: the handshake comes first (to 2025-11-25)
//	P5   requests.go: only clients ask, only servers answer (from 2026-07-28)
//	P6   requests.go: a cancellation names an open request of its sender
//	P7   subscriptions.go: a subscription is acknowledged before it notifies
//	P8   subscriptions.go: log messages only for a request that asked for them (from 2026-07-28)
//	P9   checker.go: batches (2025-03-26 alone)
//	P10  lifecycle.go: a task begins working, and its terminal status is final (2025-11-25)
//
// and of the Agent Client Protocol
//
//	A1   agents.go: initialize comes first, and a session is set up before it is used
//	A2   agents.go: an update comes while its receiver can place it
//	A3   agents.go: what a cancelled turn ends with
//
// A file declares the laws of each of its rules before the code that judges the rule; violation.go
// has the severities, violations and demands, used.go the set of the ids that a session had.
// Package check explains the rules.
//
// The rules are functions of the steps of a [timeline.Model]: it says which call a message begins, answers,
// reports on or cancels, which other calls have its id or its token, and which tasks are over. The Model takes the
// frames in the order in which they go onto the wire, from a recording or from the explorer's gate.
//
// [Checker.Observe] is for a tap between the ends, which does not see the receipt of a frame: a
// violation that depends on a receipt is a [Note].
//
// # Data layout
//
// A checker has no index of requests. What it keeps of a call stands in the call (Judged), as long as the Model
// remembers the call. Each end counts the received frames on a clock of its own ([Mark]); a fact on the
// wire carries the mark of the other end's receipt, 0 until then. Of ids and tokens whose calls the Model has
// forgotten an end keeps that they were used: numbers as ranges, others as hashes.
//
// # What it refuses
//
// Of a session of another protocol of JSON-RPC, as [transport.ProtocolOf] tells, it judges what is JSON-RPC's: a
// response answers a request, and open requests differ in their ids.
//
// It knows an ordered stream of frames each way, as on stdio and a pipe. It does not tell the
// streams of HTTP apart; to which of two open requests with the same id, or progress token, a message belongs, the
// Model says. The caller says which frames HTTP refused: see [Checker.Refuse]. It reads no schemas, and does not ask for required members. It judges
// frame by frame; package check judges a whole recording.
package order
