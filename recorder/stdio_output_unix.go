//go:build unix

package recorder

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// tellsEmpty: serverOutput finds out when its pipe is empty.
const tellsEmpty = true

// wait waits for bytes to read, and reports whether the server has exited.
func (o *serverOutput) wait() (exited bool) {
	set := []unix.PollFd{{Fd: int32(o.fd), Events: unix.POLLIN}, {Fd: int32(o.exitFd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(set, -1); !errors.Is(err, unix.EINTR) {
			return set[1].Revents != 0
		}
	}
}

// empty reports whether a read would wait.
func (o *serverOutput) empty() bool {
	set := []unix.PollFd{{Fd: int32(o.fd), Events: unix.POLLIN}}
	for {
		if n, err := unix.Poll(set, 0); !errors.Is(err, unix.EINTR) {
			return n == 0 && err == nil
		}
	}
}

// unread reports whether no process can read from the pipe.
func unread(pipe *os.File) bool {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return true
	}
	set := []unix.PollFd{{Events: unix.POLLOUT}} // with no events macOS reports nothing
	err = conn.Control(func(fd uintptr) {
		set[0].Fd = int32(fd)
		_, _ = unix.Poll(set, 0)
	})
	return err != nil || set[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}

// asksToEnd reports whether a signal asks a process to end.
func asksToEnd(sig os.Signal) bool { return sig != syscall.SIGUSR1 && sig != syscall.SIGUSR2 }
