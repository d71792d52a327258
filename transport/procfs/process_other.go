//go:build !linux

package procfs

import "os"

func of(id ID, _ int) Process { return Process{PID: id.PID, State: Unknown} }

func has(int, string) bool { return false }

func birth(int) string { return "" }

// parent returns the parent of this process; of another it is not known, and 0.
func parent(pid int) int {
	if pid == os.Getpid() {
		return os.Getppid()
	}
	return 0
}
