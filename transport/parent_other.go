//go:build !linux

package transport

import "os/exec"

// dieWithParent does nothing: only Linux tells a child of its parent's death.
// The child sees the end of its input.
func dieWithParent(*exec.Cmd) {}
