package procfs

import "syscall"

// callKind is a kind of system call in which a thread sleeps. Its arguments, which a [Watcher] reads, are those
// of 64-bit machines.
type callKind int

const (
	other     callKind = iota
	epoll              // epoll_wait(fd, events, count, timeout in ms)
	epoll2             // epoll_pwait2(fd, events, count, *timespec)
	poll               // poll(*fds, count, timeout in ms)
	ppoll              // ppoll(*fds, count, *timespec)
	selecting          // select(count, *fds, …)
	futex              // futex(word, operation, value, *timespec)
	sleep              // nanosleep(*timespec)
	clock              // clock_nanosleep(clock, flags, *timespec)
	read               // read(fd, …)
	write              // write(fd, …)
	accept             // accept(fd, …)
	connect            // connect(fd, …)
	child              // for a child, which is looked at itself
	signal             // for a signal
)

// word is what a [Call] names a kind.
func (k callKind) word() string {
	switch k {
	case epoll, epoll2, poll, ppoll, selecting:
		return "poll"
	case futex:
		return "futex"
	case sleep, clock, signal:
		return "sleep"
	case read:
		return "read"
	case write:
		return "write"
	case accept:
		return "accept"
	case connect:
		return "connect"
	case child:
		return "wait"
	}
	return ""
}

// hasDescriptor reports whether the first argument of the call is the descriptor that it waits for.
func (k callKind) hasDescriptor() bool {
	return k == read || k == write || k == accept || k == connect
}

// calls are the system calls in which threads sleep, by their numbers. Other files add those that some
// machines have.
var calls = map[uint64]callKind{
	syscall.SYS_EPOLL_PWAIT: epoll, epollPwait2: epoll2, syscall.SYS_PPOLL: ppoll, syscall.SYS_PSELECT6: selecting,
	syscall.SYS_FUTEX: futex, syscall.SYS_NANOSLEEP: sleep, syscall.SYS_CLOCK_NANOSLEEP: clock,
	syscall.SYS_READ: read, syscall.SYS_READV: read, syscall.SYS_WRITE: write, syscall.SYS_WRITEV: write,
	syscall.SYS_WAIT4: child, syscall.SYS_WAITID: child, syscall.SYS_RT_SIGTIMEDWAIT: signal, syscall.SYS_RT_SIGSUSPEND: signal,
}

// epollPwait2 has the same number on all machines.
const epollPwait2 = 441
