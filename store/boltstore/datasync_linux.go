package boltstore

import (
	"os"
	"syscall"
)

// datasync makes a file's bytes durable, and of its facts only the size.
func datasync(file *os.File) error {
	for {
		err := syscall.Fdatasync(int(file.Fd()))
		if err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
