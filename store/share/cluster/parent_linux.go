package cluster

import "syscall"

// diesWithParent has the kernel kill a server when the test process dies, however that ends.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
