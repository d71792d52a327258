//go:build unix

package transport

import (
	"os"
	"syscall"
)

// terminate is the signal by which CommandConn.Close asks a process to end.
var terminate os.Signal = syscall.SIGTERM

// killedBy returns the signal that ended the process, or nil.
func killedBy(s *os.ProcessState) os.Signal {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal()
	}
	return nil
}
