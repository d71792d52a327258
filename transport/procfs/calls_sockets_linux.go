//go:build !386 && !s390x

package procfs

import "syscall"

// 386 and s390x have one call for all that sockets do.
func init() {
	calls[syscall.SYS_RECVFROM], calls[syscall.SYS_RECVMSG] = read, read
	calls[syscall.SYS_SENDTO], calls[syscall.SYS_SENDMSG] = write, write
	calls[syscall.SYS_ACCEPT4], calls[syscall.SYS_CONNECT] = accept, connect
}
