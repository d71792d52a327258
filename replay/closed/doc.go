// Package closed plays both halves of a recording to each other through two bounded lanes
// and says whether they hang: the closed replay. replay/standin plays one half to a live
// end, and replay/explore tries other orders of the steps.
//
// # Promises
//
// The package is pure: no I/O, no clock, no goroutine. The same recording and the same
// [Setup] give the same [Verdict] on every machine, and a verdict says "HANG (proved)" only
// if no order of steps could have gone on.
//
// Goroutines may share a [Recording], a [Verdict] and the other plain values; a [Half]
// belongs to one goroutine.
//
// # Data layout
//
// [Load] folds a session into a [Recording]. A Recording holds the frames in recorded order,
// with each frame's number in its direction (from 1, as [transport.Lane] counts) and the
// number of frames of the other direction recorded before. A Recording keeps no payload,
// only the names for a report.
//
// The two ends of a recording play their halves through two bounded lanes. A [Model] says
// how an end's reader and writer depend on each other. Under every model an end comes down
// to two rising lists of numbers, the script:
//
//	need[k]  frames that the end has read before it sends its frame k+1
//	hold[j]  own frames that were taken before the end reads on after j frames
//
// So every wait is "after the n-th frame" and there are no races: every order of steps ends in
// the same place, and one run is enough. What stops a receive loop is said once, by [Loop]: the
// stops of a notification queue are those of a Loop that runs in the order of the recording. A live end runs
// its Loop in the order of the run (package replay/explore/halves, level SendingOrder), and its verdict
// changes with the order.
//
// A script is sound if need[k] counts only frames recorded before frame k+1 and
// need[hold[j]-1] <= j: then no end waits for itself. Two sound scripts always finish if
// both lanes are unbounded, because the first recorded of the stuck frames would have
// nothing to wait for. The models Independent, AnswersInline and SingleThreaded make a sound script of
// every recording. NotificationQueue and BlockingHandlers do not, and the fault is the model's, not the
// transport's: the loop waits for a frame behind the one that it holds, and the script says where.
//
// A session has finished if every frame was taken, and every awaited frame was read. A
// blocking loop leaves the frames behind a request without an answer unread: if these are
// notifications, the session does not hang.
//
// [Half] is one end under a model, for programs with a transport of their own.
//
// # Files
//
//	recording.go           a session as it is loaded for a replay
//	model.go, preset.go    the models of an end; the SDKs that work so
//	setup.go               capacities and models of one replay
//	expectation.go         the verdict that a recording must have under a setup
//	loop.go                the receive loop of an end under its model, message by message
//	script.go              what each frame of an end waits for, under its model
//	run.go                 the run: the frames that move, until none can
//	steps.go               the same run step by step, with the state after each
//	waitgraph.go           who waits for whom in a session that stands still; its category
//	category.go            the categories of a hang
//	verdict.go, report.go  the verdict, as values and as text
//	terms.go               what the words of models and verdicts mean
//	need.go                how much room the transport must have
//	changes.go             the changes of capacities and queues that let a hanging session pass
//
// # What it refuses
//
// It does not guess: a closed replay proves a hang for the two given models, not for the
// recorded programs. If a model had to assume a fact that a tap between the ends cannot see,
// the verdict says so. The closed replay plays HTTP streams as one lane each way, with a
// warning.
package closed
