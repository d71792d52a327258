//go:build unix && !linux

package cli

import (
	"os"
	"syscall"
)

// defaultAction does nothing: only Linux's signal numbers and structures are
// known here, and 128+n is what remains for faults.
func defaultAction(syscall.Signal) {}

// interruptsForeground is not known here; a second ^C does less harm than none.
func interruptsForeground() bool { return false }

// dup2 makes descriptor to another name of what from is.
func dup2(from, to int) error { return syscall.Dup2(from, to) }

// Peek returns nothing: here a pipe cannot be looked into.
func Peek(*os.File) []byte { return nil }
