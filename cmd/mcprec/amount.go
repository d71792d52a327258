package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseAge reads a duration as time.ParseDuration does, or one with days and weeks in
// front: 36h, 7d, 2w, 1w3d12h.
func parseAge(s string) (time.Duration, error) {
	bad := fmt.Errorf("%q: want a duration such as 12h, 7d or 2w", s)
	var age time.Duration
	rest := s
	for rest != "" {
		n := strings.IndexAny(rest, "dw")
		if n < 0 {
			break
		}
		count, err := strconv.ParseFloat(rest[:n], 64)
		if err != nil || !(count >= 0) {
			return 0, bad
		}
		unit := 24 * time.Hour
		if rest[n] == 'w' {
			unit *= 7
		}
		if count*float64(unit) > math.MaxInt64/2 {
			return 0, bad
		}
		age += time.Duration(count * float64(unit))
		rest = rest[n+1:]
	}
	if rest == "" && s != "" {
		return age, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || age+d < 0 {
		return 0, bad
	}
	return age + d, nil
}

// units of sizes: with an i, or a letter alone, they are powers of 1024.
var units = map[string]float64{
	"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mib": 1 << 20, "g": 1 << 30, "gib": 1 << 30, "t": 1 << 40, "tib": 1 << 40,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
}

// parseSize reads a number of bytes: 500MB, 2GiB, 1.5G.
func parseSize(s string) (int64, error) {
	number := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit, ok := units[strings.ToLower(s[len(number):])]
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if size := n * unit; ok && err == nil && n >= 0 && size < math.MaxInt64 {
		return int64(size), nil
	}
	return 0, fmt.Errorf("%q: want a size such as 500MB or 2GiB", s)
}

// sizeText is a number of bytes as a person reads it.
func sizeText(n int64) string {
	names := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	x, i := float64(n), 0
	for ; x >= 1024 && i < len(names)-1; i++ {
		x /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", x, names[i])
}
