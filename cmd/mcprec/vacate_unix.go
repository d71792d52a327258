//go:build unix

package main

import (
	"os"
	"syscall"
)

// vacate moves the protocol's streams off descriptors 0 and 1, which get the
// null device. record closes the streams when they end, and a database that then
// opened as descriptor 1 would take in whatever is printed by mistake.
func vacate(std streams) (streams, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return std, err
	}
	defer null.Close()
	for _, f := range []**os.File{&std.in, &std.out} {
		fd := int((*f).Fd())
		if fd > 1 {
			continue // not the process's own: a test's
		}
		moved, err := syscall.Dup(fd)
		if err != nil {
			return std, err
		}
		syscall.CloseOnExec(moved)
		if err := dup2(int(null.Fd()), fd); err != nil {
			return std, err
		}
		*f = os.NewFile(uintptr(moved), (*f).Name())
	}
	return std, nil
}
