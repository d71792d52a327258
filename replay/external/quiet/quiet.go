// Package quiet tells whether a tree of processes can still go on without its caller.
//
// # What it promises
//
// A [Look] that is not [Busy] is no guess. Every thread of every process in the tree was looked at
// twice, and both times it slept in the same system call with the same arguments, and had used no
// processor time between. So there was an instant at which all of them slept. What could wake them is
// read from the arguments of these calls: a timer, with the time that it has left; a descriptor whose
// other end is neither in the tree nor the caller's; or the caller alone.
//
// # Data layout
//
// On Linux it reads /proc/PID/task/TID/stat, syscall, schedstat and children, of an epoll instance
// /proc/PID/fdinfo/FD, and of poll and timed calls some bytes of /proc/PID/mem. Files that are read in
// each look stay open. The other end of a Unix socket is asked of the kernel by sock_diag, and so is what
// is on its way in a TCP connection.
//
// # What it refuses to do
//
// It stops and traces nothing. It runs on Linux (amd64 and arm64) only: nothing else shows what a thread
// waits for. It sees no wake-up that comes by no descriptor: a signal, or shared memory with a process
// outside the tree. A process that has left the tree, because its parent has ended, is not looked at.
// It needs the right to look: the processes are the caller's children, which also a strict
// kernel.yama.ptrace_scope of 1 allows.
package quiet

import (
	"fmt"
	"strings"
	"time"
)

// State says what could move a tree of processes.
type State int

// The states, those first that count when several hold.
const (
	Busy    State = iota // a thread runs, or ran between the two passes
	Full                 // a thread waits for the caller to read
	Outside              // a thread waits for something that is neither the caller's nor the tree's
	Timed                // a thread has a timer
	Asleep               // nothing but the caller can move it
	Gone                 // no process is left
)

// Look is what was seen of a tree of processes.
type Look struct {
	State   State
	Timer   time.Duration // to the nearest timer; negative: there is none
	Outside []string      // what is waited for outside, such as "socket:[4711]"
	Threads int
}

// String says what could move the processes, for a sentence that begins with them.
func (l Look) String() string {
	threads := fmt.Sprintf("all %d threads sleep", l.Threads)
	if l.Threads == 1 {
		threads = "its only thread sleeps"
	}
	switch l.State {
	case Busy:
		return "it is still running"
	case Full:
		return "it waits for its output to be read"
	case Outside:
		return fmt.Sprintf("%s, and something outside can wake it: %s", threads, strings.Join(l.Outside, ", "))
	case Timed:
		in := l.Timer.Round(100 * time.Millisecond)
		if in == 0 {
			return threads + ", and its next timer is due"
		}
		return fmt.Sprintf("%s, and its next timer is in %v", threads, in)
	case Gone:
		return "it has ended"
	}
	return threads + ", none on a timer, and nobody but mcprec holds what they wait for"
}
