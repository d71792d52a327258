package boltstore

import (
	"os"
	"syscall"
	"unsafe"
)

// address returns where a mapped value is.
func address(value []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(value))) }

// willNeed has mapped pages read at once.
func willNeed(start, size uintptr) {
	before := start % uintptr(os.Getpagesize())
	// An error means no advice was taken; the pages are then read one by one.
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, start-before, size+before, syscall.MADV_WILLNEED)
}
