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
