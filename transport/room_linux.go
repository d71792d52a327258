package transport

import (
	"io"
	"syscall"
	"unsafe"
)

// hasRoom reports whether a file takes promptSize bytes without blocking.
func hasRoom(w io.Writer) bool {
	file, ok := w.(syscall.Conn)
	if !ok {
		return false
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return false
	}
	room := false
	err = conn.Control(func(fd uintptr) {
		var set syscall.FdSet
		const bits = 8 * unsafe.Sizeof(set.Bits[0])
		if fd/bits >= uintptr(len(set.Bits)) {
			return
		}
		set.Bits[fd/bits] = 1 << (fd % bits)
		n, err := syscall.Select(int(fd)+1, nil, &set, nil, &syscall.Timeval{})
		room = err == nil && n == 1
	})
	return err == nil && room
}
