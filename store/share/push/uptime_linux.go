package push

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// machineUptime returns how long the machine has run, and the name of this run; "": not known.
func machineUptime() (boot string, uptime time.Duration) {
	name, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", 0
	}
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return "", 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	seconds, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return "", 0
	}
	return strings.TrimSpace(string(name)), time.Duration(seconds * float64(time.Second))
}
