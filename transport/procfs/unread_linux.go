//go:build amd64 || arm64

package procfs

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"
)

// Peek returns what lies unread in a pipe or a Unix socket of a process, with at most so many of its first bytes. It
// takes nothing out: the bytes of a pipe are copied by tee(2), those of a socket with MSG_PEEK. The descriptor must be
// one that the process can read from, so that an end is opened that is open already: another writer would keep off
// the end of the input, and another reader the error of one who writes to nobody.
//
// Of a socket that may not be opened, only the size is known.
func Peek(pid, fd, most int) (Unread, error) {
	file := nameOf(pid, fd)
	switch {
	case strings.HasPrefix(file, "pipe:["):
		return peekPipe(pid, fd, most)
	case strings.HasPrefix(file, "socket:["):
		return peekSocket(pid, fd, file, most)
	case file == "":
		return Unread{}, fmt.Errorf("look at descriptor %d of process %d: %w", fd, pid, os.ErrNotExist)
	}
	return Unread{}, fmt.Errorf("look at descriptor %d of process %d: it is no pipe", fd, pid)
}

// peekPipe opens the reading end of a pipe once more, without waiting, and closes it at once.
func peekPipe(pid, fd, most int) (u Unread, err error) {
	path := fmt.Sprintf("/proc/%d/fd/%d", pid, fd)
	pipe, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
			err = ErrNotYours
		}
		return u, fmt.Errorf("look at descriptor %d of process %d: %w", fd, pid, err)
	}
	defer func() { _ = syscall.Close(pipe) }()
	if u.Size, err = waiting(pipe); err != nil {
		return u, fmt.Errorf("look at descriptor %d of process %d: %w", fd, pid, err)
	}
	u.IsOver = hasHungUp(pipe)
	const getSize = 1032 // F_GETPIPE_SZ
	if size, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(pipe), getSize, 0); errno == 0 {
		u.Room = int(size)
	}
	if u.Size == 0 || most <= 0 {
		return u, nil
	}
	if u.Begin, err = copied(pipe, min(most, u.Size)); err != nil {
		return u, fmt.Errorf("copy what is in descriptor %d of process %d: %w", fd, pid, err)
	}
	return u, nil
}

// copied returns the first bytes of a pipe, and leaves them there.
func copied(pipe, most int) ([]byte, error) {
	const usual, unlikely = 64 << 10, 1 << 20 // the size of a pipe, and the largest that a user may ask for
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		return nil, err
	}
	defer func() { _, _ = syscall.Close(ends[0]), syscall.Close(ends[1]) }()
	if most > usual {
		const setSize = 1031 // F_SETPIPE_SZ
		_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, uintptr(ends[1]), setSize, unlikely)
	}
	const nonBlock = 2 // SPLICE_F_NONBLOCK
	n, err := syscall.Tee(pipe, ends[1], most, nonBlock)
	if errors.Is(err, syscall.EAGAIN) {
		return nil, nil // somebody has read it meanwhile
	}
	if err != nil {
		return nil, err
	}
	data := make([]byte, n)
	for got := 0; got < len(data); {
		count, err := syscall.Read(ends[0], data[got:])
		if err != nil || count <= 0 {
			return data[:got], err
		}
		got += count
	}
	return data, nil
}

// peekSocket asks for a descriptor of the same socket. Where that is not allowed, the kernel still says how much there is.
func peekSocket(pid, fd int, file string, most int) (u Unread, err error) {
	of, isUnix := unixSocket(file)
	if !isUnix {
		return u, fmt.Errorf("look at descriptor %d of process %d: it is no Unix socket", fd, pid)
	}
	u = Unread{Size: of.unread, IsOver: of.isOver}
	own, err := take(pid, fd)
	if err != nil {
		return u, nil // not allowed
	}
	defer func() { _ = syscall.Close(own) }()
	if u.Size == 0 || most <= 0 {
		return u, nil
	}
	data := make([]byte, min(most, u.Size))
	n, _, err := syscall.Recvfrom(own, data, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	if err == nil {
		u.Begin = data[:n]
	}
	return u, nil
}

// take returns a descriptor of what a descriptor of another process is.
func take(pid, fd int) (int, error) {
	const pidfdOpen, pidfdGetFD = 434, 438 // on all machines
	process, _, errno := syscall.Syscall(pidfdOpen, uintptr(pid), 0, 0)
	if errno != 0 {
		return -1, errno
	}
	defer func() { _ = syscall.Close(int(process)) }()
	own, _, errno := syscall.Syscall(pidfdGetFD, process, uintptr(fd), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(own), nil
}

// waiting returns how many bytes can be read from a descriptor.
func waiting(fd int) (int, error) {
	const fionread = 0x541b
	count := int32(0)
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), fionread, uintptr(unsafe.Pointer(&count))); errno != 0 {
		return 0, errno
	}
	return int(count), nil
}

// hasHungUp reports whether nobody can write to a pipe any more.
func hasHungUp(fd int) bool {
	const hangup = 0x10 // POLLHUP
	poll := struct {
		fd              int32
		events, happens int16
	}{fd: int32(fd)}
	now := syscall.Timespec{}
	count, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
	return errno == 0 && count > 0 && poll.happens&hangup != 0
}

// OtherEnd returns the name of the other end of a connected Unix socket; "" if there is none, or it is another socket.
func OtherEnd(name string) string { return otherEnd(name) }
