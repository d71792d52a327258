package phrase

import (
	"fmt"
	"strconv"
	"time"
)

var daysAndWeeks = Regexp(`([0-9.]+)([dw])`)

// ParseAge reads a duration as time.ParseDuration does, also in days and weeks: 36h, 7d, 2w,
// 1w3d12h.
func ParseAge(s string) (time.Duration, error) {
	hours := daysAndWeeks().ReplaceAllStringFunc(s, func(part string) string {
		n, err := strconv.ParseFloat(part[:len(part)-1], 64)
		if part[len(part)-1] == 'w' {
			n *= 7
		}
		if err != nil {
			return part
		}
		return strconv.FormatFloat(24*n, 'f', -1, 64) + "h"
	})
	d, err := time.ParseDuration(hours)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q: want a duration such as 12h, 7d or 2w", s)
	}
	return d, nil
}
