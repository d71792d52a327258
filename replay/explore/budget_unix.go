//go:build unix

package explore

import (
	"syscall"
	"time"
)

// processTime is the processor time that the process has used so far, if the
// system tells.
func processTime() (time.Duration, bool) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
