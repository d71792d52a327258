package cli

import (
	"os"
	"syscall"
	"unsafe"
)

// defaultAction gives a signal back to the kernel. The Go runtime keeps its
// handlers for faults such as SIGSEGV; a zero sigaction is SIG_DFL.
func defaultAction(s syscall.Signal) {
	var act [4]uint64 // handler, flags, restorer, mask
	syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0)
}

// interruptsForeground reports whether the terminal turns ^C into a signal for
// this process's group. A program that has put it in raw mode gets the key
// instead, and a SIGINT then comes from a program.
func interruptsForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	var group int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group)))
	if errno != 0 || int(group) != syscall.Getpgrp() {
		return false
	}
	var mode syscall.Termios
	_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&mode)))
	return errno == 0 && mode.Lflag&syscall.ISIG != 0
}

// dup2 makes descriptor to another name of what from is. Some Linux ports have
// only the newer call.
func dup2(from, to int) error { return syscall.Dup3(from, to, 0) }

// Peek returns a copy of the bytes at the head of a pipe or a socket; nil for an empty pipe, and
// on other systems.
func Peek(f *os.File) []byte {
	const most, nonblocking = 512, 2
	waiting := make([]byte, most)
	fd := int(f.Fd())
	if n, _, err := syscall.Recvfrom(fd, waiting, syscall.MSG_PEEK|syscall.MSG_DONTWAIT); err == nil {
		return waiting[:n]
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer r.Close()
	defer w.Close()
	n, _, errno := syscall.Syscall6(syscall.SYS_TEE, uintptr(fd), w.Fd(), most, nonblocking, 0, 0)
	if errno != 0 || n == 0 {
		return nil
	}
	copied, _ := r.Read(waiting)
	return waiting[:copied]
}
