//go:build unix

package boltstore

import "syscall"

// noFollow has an opening fail where the name is a symbolic link.
const noFollow = syscall.O_NOFOLLOW
