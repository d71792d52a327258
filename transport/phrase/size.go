package phrase

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units of sizes. Those with an i, and single letters, are powers of 1024.
var units = map[string]float64{
	"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mib": 1 << 20, "g": 1 << 30, "gib": 1 << 30, "t": 1 << 40, "tib": 1 << 40,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
}

// ParseSize reads a number of bytes: 500MB, 2GiB, 1.5G.
func ParseSize(s string) (int64, error) {
	number := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit, ok := units[strings.ToLower(s[len(number):])]
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if size := n * unit; ok && err == nil && n >= 0 && size < math.MaxInt64 {
		return int64(size), nil
	}
	return 0, fmt.Errorf("%q: want a size such as 500MB or 2GiB", s)
}
