//go:build unix

package boltstore

import (
	"os"
	"syscall"
)

// letGo releases bbolt's lock on a file that bbolt cannot close any more.
// Closing is not enough: what is still mapped keeps the lock.
func letGo(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	_ = f.Close()
}

// unlock releases bbolt's lock on a file that stays open.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// lockOpen takes bbolt's lock on an open file, if nobody has it.
func lockOpen(f *os.File, shared bool) (bool, error) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, err
}
