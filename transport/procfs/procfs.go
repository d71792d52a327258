// Package procfs reads how the processes of this machine stand: whether a process lives, in which system call it
// waits, and whether a tree of processes can still go on without its caller. The recorder, why and explore
// read it here.
//
// # What it promises
//
// It never takes a process for another one that got the same number later: an [ID] names the boot of the
// machine, the namespace of process numbers and the time at which the process began. It reads what the
// system shows of every process of the same user, and never traces one. Only [Watcher.Kill] ends processes.
//
// A [Look] that is not [Busy] is no guess. Every thread of every process in the tree was looked at twice, and
// both times it slept in the same system call with the same arguments, and had used no processor time between.
// So there was an instant at which all of them slept. What could wake them is read from the arguments of these
// calls: a timer, with the time that it has left; a descriptor whose other end is neither in the tree nor the
// caller's; or the caller alone.
//
// [Peek] disturbs nothing: it opens an end of a pipe that is open already, without waiting, copies what is in it
// with tee(2), and closes it. [Memory] reads pages that are there, and brings none in.
//
// # Data layout
//
// On Linux a [Process] comes from /proc/PID/stat, and of each thread from syscall and wchan. Where a system does
// not show the system call of a process that is no child (kernel.yama.ptrace_scope), the kernel function in
// which it waits tells a little less. A Process holds the tree below it, because a launcher such as npx has the
// server as a child.
//
// A [Watcher] also reads schedstat and children of each thread, of an epoll instance /proc/PID/fdinfo/FD, and of
// poll and timed calls some bytes of /proc/PID/mem. Files that are read in each look stay open. The other end of
// a Unix socket is asked of the kernel by sock_diag, and so is what is on its way in a TCP connection.
//
// # Source files
//
//	procfs.go, process_linux.go                                   how a process and its children stand
//	watcher.go, watcher_linux.go                                  whether a tree can go on: what is told of it, and the looking
//	calls_linux.go, calls_linux_amd64.go, calls_sockets_linux.go  the system calls in which threads wait
//	sockets_linux.go                                              the other end of a Unix socket
//	tcp.go, tcp_linux.go                                          a TCP socket, and what is on its way to it
//	environ_linux.go                                              the environment of a process, and its program
//	process_other.go, watcher_other.go, tcp_other.go, list_other.go  other systems, where nothing is known
//
// # What it refuses to do
//
// It guesses nothing: elsewhere than on Linux, and of a process of another machine, a state is [Unknown]. A
// Watcher runs on Linux (amd64 and arm64) only, and needs the right to look: the processes are the caller's
// children, which also a strict kernel.yama.ptrace_scope of 1 allows. It sees no wake-up that comes by no
// descriptor: a signal, or shared memory with a process outside the tree. It does not look at a process that has
// left the tree because its parent has ended.
package procfs

import "time"

const maxDepth = 8 // of a tree of processes

// ID identifies one process for good. The system may give its number to another process; the ID still
// means the first.
type ID struct {
	PID int `json:"pid"`
	// Birth tells the machine's start and the process's, in the system's own terms. Two
	// processes with the same PID and Birth are the same; "": not known.
	Birth string `json:"birth,omitempty"`
}

// State is how a process stands.
type State string

// The states of a process.
const (
	Unknown  State = "not known here"
	Running  State = "running"
	Sleeping State = "sleeping" // waits in a system call
	Disk     State = "waiting for a disk"
	Stopped  State = "stopped" // by a signal or a debugger
	Zombie   State = "zombie"  // has ended, and its parent has not asked how
	Gone     State = "gone"
)

// Process is what the system tells of a process and of those that it has started.
type Process struct {
	PID   int
	Name  string // of its program, as the system shortens it
	State State
	// Calls are the system calls in which its threads wait, each once, the main thread's first.
	Calls []Call
	// Files are what its descriptors 0, 1 and 2 are, such as "pipe:[4711]"; two processes with
	// the same text have the same pipe. "": closed, or not shown.
	Files    [3]string
	Age      time.Duration // since it was started, to some hundredths of a second; 0: not known
	Children []Process     // of a [Tree]
}

// Call is a system call in which a thread waits.
type Call struct {
	// Name is "read", "write", "poll" (for any of several events), "futex" (for another
	// thread), "wait" (for a child), "sleep", "accept", "connect", or the kernel's own word.
	Name string
	FD   int    // the descriptor of a read or a write; -1: none, or not shown
	File string // what the descriptor is
}

// Of returns the state of a process without its Children. A process is Gone if it has ended, although
// another one may have its number.
func Of(id ID) Process { return of(id, 0) }

// Tree returns the state of a process and of its descendants. It costs a millisecond for each ten of
// them: ask it of a server, and not of a client, which may be the parent of everything.
func Tree(id ID) Process { return of(id, maxDepth) }

// Below returns all the processes of a Tree below its root, each behind its parent.
func (p Process) Below() (list []Process) {
	for _, child := range p.Children {
		list = append(append(list, child), child.Below()...)
	}
	return list
}

// Has reports whether a process has a file open, such as "pipe:[4711]". It is false also where the
// system does not tell.
func Has(pid int, file string) bool { return file != "" && has(pid, file) }

// Identify returns the ID of a process that lives now. Its Birth is "" where the system tells none.
func Identify(pid int) ID { return ID{PID: pid, Birth: birth(pid)} }

// Lineage returns a process that lives now and its ancestors, as far as the system tells them:
// elsewhere than on Linux those of this process, up to its parent.
func Lineage(pid int) (list []ID) {
	const most = 64 // the parent of an ancestor that ended meanwhile may be anything
	for ; pid > 0 && len(list) < most; pid = parent(pid) {
		list = append(list, Identify(pid))
	}
	return list
}
