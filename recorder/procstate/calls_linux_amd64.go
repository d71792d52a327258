package procstate

import "syscall"

// Other machines have only the newer calls.
func init() {
	for number, name := range map[int]string{syscall.SYS_POLL: "poll", syscall.SYS_SELECT: "poll", syscall.SYS_EPOLL_WAIT: "poll", syscall.SYS_PAUSE: "sleep", syscall.SYS_ACCEPT: "accept"} {
		callNames[number] = name
	}
}
