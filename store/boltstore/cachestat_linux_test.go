package boltstore

import (
	"os"
	"syscall"
	"unsafe"
)

// dirtyPages returns how many pages of a file the kernel has not given to the
// disk, by cachestat(2), or 0 where it cannot be asked.
func dirtyPages(path string) uint64 {
	const cachestat = 451
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	whole := struct{ off, n uint64 }{}
	var got struct{ cached, dirty, writeback, evicted, recent uint64 }
	_, _, errno := syscall.Syscall6(cachestat, f.Fd(), uintptr(unsafe.Pointer(&whole)), uintptr(unsafe.Pointer(&got)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return got.dirty + got.writeback
}
