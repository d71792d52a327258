// Package probe measures how a live peer reads and writes: the model of an end, in the words that
// package replay/closed has for it.
//
// # What it promises
//
// A model is only what the experiments have shown. A question that no experiment could answer is
// listed with the reason, and a model that would need its answer is not said.
//
// An experiment says that a peer stands still only when its [Line] says so. In a test's bubble
// (package fixtures) that is exact. Of a process (package external) it is read from the kernel, and the
// report says «external».
//
// A server is asked for nothing that could change the world: it gets initialize, ping, lists,
// notifications, and messages that the specification lets it ignore. A tool is called only if the user
// names it.
//
// # Data layout
//
// A [Bench] starts a fresh peer for each experiment and joins the experiment to it by a Line. An
// experiment is a short script of frames; what it sees goes into [Observed], from which
// [Observed.Models] decides without the peer. A [Report] has the model, and a [Finding] for each
// question.
//
// # Source files
//
//	line.go       the interface to a peer
//	talk.go       one conversation: ids, answers to the peer, waits
//	questions.go  the options, the questions, and the frames that every peer must live with
//	client.go     the experiments on a client
//	server.go     the experiments on a server
//	observed.go   what was observed, and the models that it shows
//	report.go     the report, as text and as JSON
//
// # What it refuses to do
//
// It does not say how a peer works inside, only what stands and what goes on. It measures no speed. A
// model holds for what was tried: a handler that the experiments did not reach may do otherwise.
package probe
