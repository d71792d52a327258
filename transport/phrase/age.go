package phrase

import (
	"fmt"
	"strconv"
	"strings"
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

// ParseSince reads a time from which something is wanted: today or yesterday (from midnight), a day such as
// 2026-11-28, a time such as 2026-11-28 15:04 or of RFC 3339, or how long ago, as ParseAge reads it. Days are those
// of now's place.
func ParseSince(s string, now time.Time) (time.Time, error) {
	year, month, day := now.Date()
	switch strings.ToLower(s) {
	case "now":
		return now, nil
	case "today":
		return time.Date(year, month, day, 0, 0, 0, 0, now.Location()), nil
	case "yesterday":
		return time.Date(year, month, day-1, 0, 0, 0, 0, now.Location()), nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02 15:04", time.DateTime, "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	age, err := ParseAge(s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q: want a duration such as 12h, 7d or 2w, today, yesterday, or a day such as %s", s, now.Format(time.DateOnly))
	}
	return now.Add(-age), nil
}
