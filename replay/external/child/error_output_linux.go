package child

import (
	"fmt"
	"strings"
	"syscall"
)

// ErrorOutput is the standard error of a client's server, which is a pipe or a socket. If the client does not read
// there, a server that writes enough waits for ever. The methods of nil do nothing.
type ErrorOutput struct {
	fd       int // -1: closed
	isSocket bool
	left     int // bytes to be written when there is room
}

// newErrorOutput takes a descriptor. It returns nil for a file, a terminal or /dev/null: nobody waits for their room.
// The descriptor may be one of the client's own, and is not made non-blocking for it.
func newErrorOutput(fd int) *ErrorOutput {
	var about syscall.Stat_t
	if err := syscall.Fstat(fd, &about); err != nil {
		CloseEnd(&fd)
		return nil
	}
	switch about.Mode & syscall.S_IFMT {
	case syscall.S_IFSOCK:
		return &ErrorOutput{fd: fd, isSocket: true}
	case syscall.S_IFIFO:
		defer CloseEnd(&fd)
		if again, err := syscall.Open(fmt.Sprintf("/proc/self/fd/%d", fd), syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0); err == nil {
			return &ErrorOutput{fd: again}
		}
		return nil
	}
	CloseEnd(&fd)
	return nil
}

// Write writes so many bytes of lines. Those for which there is no room are written by a later Flush.
func (e *ErrorOutput) Write(count int) {
	if e != nil {
		e.left += count
		e.Flush()
	}
}

// Left returns how many bytes have found no room.
func (e *ErrorOutput) Left() int {
	if e == nil {
		return 0
	}
	return e.left
}

// Flush writes what there is room for, and reports whether that was something.
func (e *ErrorOutput) Flush() (isMore bool) {
	const line = "mcprec: a line that a server writes to its standard error\n"
	for e != nil && e.left > 0 && e.fd >= 0 {
		lines := []byte(strings.Repeat(line, 1+min(e.left, 4<<10)/len(line)))[:min(e.left, 4<<10)]
		count, err := e.write(lines)
		if err == syscall.EINTR {
			continue
		}
		if err == syscall.EAGAIN {
			break
		}
		if err != nil {
			e.left = 0 // nobody reads any more, and no server waits then
			break
		}
		e.left -= count
		isMore = true
	}
	return isMore
}

func (e *ErrorOutput) write(lines []byte) (int, error) {
	if e.isSocket {
		return syscall.SendmsgN(e.fd, lines, nil, nil, syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL)
	}
	return syscall.Write(e.fd, lines)
}

func (e *ErrorOutput) close() {
	if e != nil {
		CloseEnd(&e.fd)
		e.left = 0
	}
}
