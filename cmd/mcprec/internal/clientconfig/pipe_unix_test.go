//go:build unix

package clientconfig

import "syscall"

func makePipe(name string) error { return syscall.Mkfifo(name, 0o600) }
