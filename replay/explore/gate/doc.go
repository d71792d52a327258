// Package gate is a bounded in-memory transport in which nothing moves by itself: Read and
// Write park, and an explorer of schedules releases them step by step.
//
// # Data layout
//
// A [Gate] has two lanes, one for each direction, and two ends. A frame on its way is a
// [Flight]. It moves through four steps:
//
//	offer  Write was called          fresh, then named and Waiting
//	take   it left its writer        needs room in Queue; at capacity 0 a waiting reader
//	ack    Write returns             until then it is in unacked too
//	give   Read returns it           at capacity 0 in one step with take
//
// [Gate.Steps] lists the steps that may be released now, [Gate.Release] performs one. The
// fields of a gate, a lane and a flight are guarded by [Gate.Lock]. A content name (see
// [Namer]) has no id, no address and no order of arrival in it, so that the same peers give
// the same names in every run.
//
// # What it refuses
//
// It has no goroutine, and decides nothing: package explore says which step comes next, and
// what it means when there is none. All waits are on channels, so that a bubble of
// testing/synctest sees them.
package gate
