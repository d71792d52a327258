//go:build unix

package recording

import "syscall"

// ownGroup puts a process into a group of its own, which ^C does not reach.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
