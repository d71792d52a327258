package transport

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes a kill of this process a kill of the child: whoever kills
// what it takes for the server must not leave the server behind.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
