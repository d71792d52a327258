package boltstore

import (
	"os"
	"syscall"
)

// datasync makes a file's bytes durable, and of its facts only the size.
func datasync(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
