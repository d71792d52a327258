//go:build !linux

package push

import "time"

// machineUptime says that the uptime is not known.
func machineUptime() (boot string, uptime time.Duration) { return "", 0 }
