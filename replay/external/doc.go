// Package external plays the client's half of a recorded session to a real server process, in any
// language, in many orders, and says in which of them the server hangs, dies, lingers, or answers as no
// order of the calls explains.
//
// # What it promises
//
// Nothing in the server is changed. The order in which the client's frames go out, which of them share a
// write, where a write is split, when the client reads, answers, cancels and ends: these are the choices.
// After each write the server is left alone until it is at rest, which package quiet reads from the
// kernel. So what runs side by side in the server is what one write brought, and a schedule can be played
// again by its [Token].
//
// Every finding was seen in several fresh processes, with the same token each time. A finding is called a
// hang only if nothing but mcprec could have moved the server. A server with a timer, or one that waits
// for something outside, is a suspect, and the finding names the timer or the descriptor.
//
// # Data layout
//
// A [Schedule] is a short list of choices ([Choice]), each at a frame of the client, which has the number
// of its recorded event. Without choices the client is plain: it sends a frame, waits for the answer and
// for rest, and sends the next. A play has the answers by the event number of their request.
//
// # Source files
//
//	choice.go     choices, tokens, and which are tried
//	player.go     one play of a schedule to one process
//	process_linux.go, process_other.go  the process and the pipes to it
//	serial.go     whether an order of the calls explains the answers to a burst
//	explore.go    the search, and its confirmation in fresh processes
//	report.go     what is said
//	probe.go      the experiments of package probe on a server process
//
// # What it refuses to do
//
// It proves nothing: what a process does between two system calls is its own. It runs on Linux only. It
// plays stdio, not HTTP. It takes no command from a recording.
package external
