package boltstore

import (
	"os"
	"syscall"
)

// dropCache has the next read of a file come from the disk.
func dropCache(path string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	_ = f.Sync()
	const dontNeed = 4
	_, _, _ = syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0)
}

// allocated returns the bytes that a file takes on the disk.
func allocated(path string, size int64) int64 {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return size
	}
	return st.Blocks * 512
}
