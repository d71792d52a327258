// Package outage keeps a session going while its disk does not answer.
//
// # What it promises
//
// [Spool] is a store.Spool around another one. A call of it returns within a bound, also when
// the call of the inner spool does not: what was to be written then waits in memory, with all
// that follows, in order, until the disk takes it. So does what the disk refuses. Nothing is
// written twice, and nothing overtakes.
//
// # Data layout
//
// While the disk answers, a write is the inner spool's, and costs one atomic operation more
// before it and one after it. When a write is overdue, or fails, an outage begins: its parts
// and all that follow are copied into a queue of batches (queue.go), which one goroutine
// writes. The memory of all queues of a process is counted in one [Budget].
//
// A write may run in two goroutines. [Spool.Write] copies the parts and has a goroutine of
// its own write them, which can be left behind. [Spool.WriteInline] writes in the caller's
// goroutine, which is about a microsecond quicker, and tells another goroutine to go on in the
// caller's place when the write is overdue (handover.go).
//
// # What it refuses to do
//
// It does not number, time or make events. Its user asks for what the log should say of an
// outage: [Spool.Recovered], [Spool.Doubt], [Spool.Waiting].
package outage
