package boltstore

import (
	"os"
	"syscall"
	"unsafe"
)

// willNeed has the pages of a mapped value read at once.
func willNeed(value []byte) {
	if len(value) < os.Getpagesize() {
		return
	}
	start := uintptr(unsafe.Pointer(unsafe.SliceData(value)))
	before := start % uintptr(os.Getpagesize())
	// An error means no advice was taken; the pages are then read one by one.
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, start-before, uintptr(len(value))+before, syscall.MADV_WILLNEED)
}
