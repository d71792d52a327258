//go:build unix

package boltstore

import (
	"os"
	"syscall"
)

const (
	// noFollow makes opening a symbolic link fail.
	noFollow = syscall.O_NOFOLLOW
	// noBlock keeps the opening of a named pipe from waiting for its other end.
	noBlock = syscall.O_NONBLOCK
	// modesTell reports whether the mode of a file says who may write to it.
	modesTell = true
)

const replaceNeedsClosed = false // an open file can be replaced here

// unlock releases bbolt's lock on a file that stays open.
func unlock(file *os.File) { _ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }

// lockOpen takes bbolt's lock on an open file if nobody holds it.
func lockOpen(file *os.File, shared bool) (bool, error) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, err
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}
