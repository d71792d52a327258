//go:build !386 && !s390x

package procstate

import "syscall"

// Those machines have one call for all that sockets do.
func init() {
	for number, name := range map[int]string{
		syscall.SYS_RECVFROM: "read", syscall.SYS_RECVMSG: "read", syscall.SYS_SENDTO: "write", syscall.SYS_SENDMSG: "write",
		syscall.SYS_ACCEPT4: "accept", syscall.SYS_CONNECT: "connect",
	} {
		callNames[number] = name
	}
}
