//go:build !linux

package leftover

// endProcesses does nothing: this system does not show the environment of a process.
func endProcesses(func(name string) bool) {}
