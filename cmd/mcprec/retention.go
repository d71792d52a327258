package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/store"
)

// retention says which sessions are to go. A limit that was not given is nil.
type retention struct {
	labels    labels
	olderThan *time.Duration // since they ended
	keep      *int           // the newest
	maxSize   *int64         // of all
}

// pruned is a session that is to go.
type pruned struct {
	store.Session
	stored int64
	why    string
}

// pick returns the sessions that go by any of the limits, oldest first. Of those it is
// given, newest first, only those with the labels count. Live ones stay, and one whose
// start is unknown has no age. Size is what all of them take, of which each has its
// stored share.
func (r retention) pick(sessions []store.Session, now time.Time, size int64, stored map[store.SessionID]int64) []pruned {
	sessions = slices.DeleteFunc(slices.Clone(sessions), func(s store.Session) bool { return !r.labels.of(s.Header) })
	if len(r.labels.list()) > 0 {
		size = 0
		for _, s := range sessions {
			size += stored[s.ID]
		}
	}
	var gone, rest []pruned
	for i, s := range sessions {
		p := pruned{Session: s, stored: stored[s.ID]}
		switch {
		case s.State == store.Live:
			continue
		case r.olderThan != nil && !s.Start.IsZero() && now.Sub(s.Start.Add(s.Head.At)) > *r.olderThan:
			p.why = "age"
		case r.keep != nil && i >= *r.keep:
			p.why = "number"
		default:
			rest = append(rest, p)
			continue
		}
		size -= p.stored
		gone = append(gone, p)
	}
	for i := len(rest) - 1; i >= 0 && r.maxSize != nil && size > *r.maxSize; i-- {
		rest[i].why = "size"
		size -= rest[i].stored
		gone = append(gone, rest[i])
	}
	slices.SortStableFunc(gone, func(a, b pruned) int { return a.Start.Compare(b.Start) })
	return gone
}

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

// labels is the flag --label: of a session that is recorded, or that sessions must have.
type labels struct {
	text   string            // one without a value
	values map[string]string // NAME=VALUE
}

// String, Set and Type make it a flag that may be given several times.
func (l *labels) String() string { return strings.Join(l.list(), " ") }

// Set takes one.
func (l *labels) Set(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		l.text = s
		return nil
	}
	if l.values == nil {
		l.values = map[string]string{}
	}
	l.values[name] = value
	return nil
}

// Type is what help calls it.
func (l *labels) Type() string { return "LABEL" }

func (l *labels) list() (list []string) {
	if l.text != "" {
		list = append(list, l.text)
	}
	for _, name := range slices.Sorted(maps.Keys(l.values)) {
		list = append(list, name+"="+l.values[name])
	}
	return list
}

// of reports whether a session has all of them. NAME=VALUE may also be all of its label.
func (l *labels) of(h store.Header) bool {
	if l.text != "" && h.Label != l.text {
		return false
	}
	for name, value := range l.values {
		if has, ok := h.Labels[name]; (!ok || has != value) && h.Label != name+"="+value {
			return false
		}
	}
	return true
}

// labelOf is what a listing shows.
func labelOf(s store.Session) string {
	return (&labels{s.Label, s.Labels}).String()
}
