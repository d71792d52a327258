//go:build !linux

package cluster

import "syscall"

// diesWithParent does nothing: a killed test process leaves its servers.
func diesWithParent() *syscall.SysProcAttr { return nil }
