package output

import (
	"fmt"
	"time"
)

// Size formats a number of bytes for people.
func Size(n int64) string {
	names := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	x := float64(n)
	i := 0
	for ; x >= 1024 && i < len(names)-1; i++ {
		x /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", x, names[i])
}

// Rounded rounds a duration to about three digits.
func Rounded(d time.Duration) time.Duration {
	for unit := time.Second; unit >= time.Microsecond; unit /= 10 {
		if d >= unit {
			return d.Round(max(unit/100, 1))
		}
	}
	return d
}
