//go:build unix

package boltstore

import (
	"os/signal"
	"syscall"
)

// limitFiles makes writes past size fail as on a full disk.
func limitFiles(size uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	var l syscall.Rlimit
	set(&l.Cur, size)
	set(&l.Max, size)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)
}

// set knows that FreeBSD's limits are signed.
func set[T int64 | uint64](field *T, n uint64) { *field = T(n) }
