// Package gate is a bounded in-memory transport: Read and Write park, and an explorer of
// schedules releases each of them as a step.
//
// # Data layout
//
// A [Gate] has two lanes, one for each direction, and two ends, for each client. A frame on its way is a
// [Flight] and moves through four steps:
//
//	offer  Write was called          fresh, then named and Waiting
//	take   it left its writer        needs room in Queue; at capacity 0 a waiting reader
//	ack    Write returns             until then the flight is in unacked too
//	give   Read returns it           at capacity 0 in one step with take
//
// An end may write bytes in place of frames ([Bytes]): each Write is a step, and a frame is
// offered when its newline has come.
//
// Over [HTTP] each request and response is an [Exchange] with steps of its own, and each
// response a lane; [Web] is the client's side. A pair of ends is a session ([Pair]); a gate has one pair or more.
//
// [Gate.Steps] lists the steps that may be released now, [Gate.Release] performs one. The
// fields of a gate, a lane and a flight are guarded by [Gate.Lock]. A content name (see
// [Namer]) has no id, address or order of arrival, because the same peers must give the same
// names in every run.
//
// # What it refuses
//
// The gate has no goroutine and decides no order: package explore chooses the next step. All
// waits are on channels, which a bubble of testing/synctest sees.
package gate
