package procfs

import "syscall"

// Machines that came later have only the newer calls.
func init() {
	calls[syscall.SYS_EPOLL_WAIT] = epoll
	calls[syscall.SYS_POLL] = poll
	calls[syscall.SYS_SELECT] = selecting
	calls[syscall.SYS_PAUSE] = signal
	calls[syscall.SYS_ACCEPT] = accept
}
