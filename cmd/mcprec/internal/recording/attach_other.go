//go:build !unix

package recording

import "syscall"

func ownGroup() *syscall.SysProcAttr { return nil }
