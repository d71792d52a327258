//go:build unix

package boltstore

import "syscall"

const (
	// noFollow has an opening fail where the name is a symbolic link.
	noFollow = syscall.O_NOFOLLOW
	// noWait has the opening of a named pipe not wait for its other end.
	noWait = syscall.O_NONBLOCK
)
