//go:build !linux

package leftover

// endProcesses does nothing: what a process has in its environment is not known here.
func endProcesses(func(name string) bool) {}
