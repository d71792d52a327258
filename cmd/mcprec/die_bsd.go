//go:build unix && !linux

package main

import "syscall"

// defaultAction does nothing: only Linux's signal numbers and structures are
// known here, and 128+n is what remains for faults.
func defaultAction(syscall.Signal) {}

func inForeground() bool { return false }
