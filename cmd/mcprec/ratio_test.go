package main

import (
	"slices"
	"time"
)

// ratio is that of the medians: the second to the first.
func ratio(times [2][]time.Duration) float64 {
	return float64(median(times[1])) / float64(median(times[0]))
}

// median is the middle one; it sorts them.
func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
