package procstate

import "syscall"

// callNames are the system calls in which processes wait, by their numbers.
var callNames = map[int]string{
	syscall.SYS_READ: "read", syscall.SYS_READV: "read",
	syscall.SYS_WRITE: "write", syscall.SYS_WRITEV: "write",
	syscall.SYS_PPOLL: "poll", syscall.SYS_PSELECT6: "poll", syscall.SYS_EPOLL_PWAIT: "poll", epollPwait2: "poll",
	syscall.SYS_FUTEX: "futex", syscall.SYS_WAIT4: "wait", syscall.SYS_WAITID: "wait",
	syscall.SYS_NANOSLEEP: "sleep", syscall.SYS_CLOCK_NANOSLEEP: "sleep", syscall.SYS_RT_SIGTIMEDWAIT: "sleep", syscall.SYS_RT_SIGSUSPEND: "sleep",
}

// epollPwait2 has the same number on all machines.
const epollPwait2 = 441
