//go:build unix

package boltstore

import (
	"os/signal"
	"syscall"
)

// limitFiles makes writes past size fail as on a full disk.
func limitFiles(size uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size})
}
