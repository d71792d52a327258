package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// point is a place in a session: behind an event, or behind all until a time.
type point struct {
	seq   uint64
	at    time.Duration
	share float64 // of the session's time, until that is known; otherwise below 0
}

// end is behind every event: all of it is known without a look at how long it took.
const end = math.MaxUint64

// parsePoint reads 12, 12.3s or 50%.
func parsePoint(flag, text string) (point, error) {
	p := point{share: -1}
	if seq, err := strconv.ParseUint(text, 10, 64); err == nil && seq > 0 {
		p.seq = seq
		return p, nil
	}
	if number, ok := strings.CutSuffix(text, "%"); ok {
		share, err := strconv.ParseFloat(number, 64)
		if err == nil && share == 100 {
			p.seq = end
			return p, nil
		}
		if err == nil && share >= 0 && share < 100 {
			p.share = share / 100
			return p, nil
		}
	}
	if at, err := time.ParseDuration(text); err == nil && at >= 0 && text != "0" {
		p.at = at
		return p, nil
	}
	return p, usagef("--%s %s: want the number of an event, a time such as 12.3s, or a share such as 50%%", flag, text)
}

// isPast reports whether an event comes after the point.
func (p point) isPast(seq uint64, at time.Duration) bool {
	if p.seq != 0 {
		return seq > p.seq
	}
	return at > p.at
}

func hasShare(points []point) bool {
	return slices.ContainsFunc(points, func(p point) bool { return p.share >= 0 })
}

// shareOut makes times of shares.
func shareOut(points []point, took time.Duration) {
	for i := range points {
		if p := &points[i]; p.share >= 0 {
			p.at, p.share = time.Duration(math.Round(float64(took)*p.share)), -1
		}
		if p := &points[i]; p.at > took { // a share that was rounded
			p.at = took
		}
	}
}
