package filter

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay"
)

// span is a range of whole numbers, both ends in it.
type span struct{ from, to int64 }

func (s span) has(n int64) bool { return s.from <= n && n <= s.to }

// parseSpan reads >N, >=N, <N, <=N, A..B with either end left out, or N alone: read
// gives the first and the last number that a text means.
func parseSpan(text string, read func(string) (first, last int64, ok bool)) (s span, ok bool) {
	s = span{math.MinInt64, math.MaxInt64}
	if from, to, two := strings.Cut(text, ".."); two {
		okFrom, okTo := from == "", to == ""
		if !okFrom {
			s.from, _, okFrom = read(from)
		}
		if !okTo {
			_, s.to, okTo = read(to)
		}
		return s, okFrom && okTo && text != ".."
	}
	number := strings.TrimLeft(text, "<>=")
	first, last, ok := read(number)
	switch text[:len(text)-len(number)] {
	case "":
		s = span{first, last}
	case ">":
		s.from = last + 1
	case ">=":
		s.from = first
	case "<":
		s.to = first - 1
	case "<=":
		s.to = last
	default:
		ok = false
	}
	return s, ok
}

// numbers makes the fields that compare a number of the event.
func numbers(of func(*replay.Entry) uint64) func(value) (func(*subject) bool, error) {
	return func(v value) (func(*subject) bool, error) {
		s, ok := parseSpan(v.text, func(text string) (int64, int64, bool) {
			n, err := strconv.ParseInt(strings.TrimPrefix(text, "#"), 10, 64)
			return n, n, err == nil && 0 <= n && n < math.MaxInt64
		})
		if !ok {
			return nil, fault(v.at, "want a number or a range such as 5..9 or >100, not %s", strconv.Quote(shorten(v.text)))
		}
		return func(sub *subject) bool { return s.has(int64(of(sub.entry))) }, nil
	}
}

func times(v value) (func(*subject) bool, error) {
	s, err := v.times("at:")
	return func(sub *subject) bool { return s.has(int64(sub.entry.At)) }, err
}

// took selects answered calls.
func took(v value) (func(*subject) bool, error) {
	s, err := v.times("took:")
	return func(sub *subject) bool {
		return sub.call != nil && sub.call.Response != 0 && s.has(int64(sub.call.Latency))
	}, err
}

func (v value) times(field string) (span, error) {
	s, ok := parseSpan(v.text, readTime)
	if !ok {
		return s, fault(v.at, "%s wants a time or a range such as >1.5s, <20ms or 1s..2s, not %s", field, strconv.Quote(shorten(v.text)))
	}
	return s, nil
}

// readTime reads a duration, or seconds without a unit as show prints them. What it
// means is all that begins so: 1.5s is up to 1.6s, 2ms up to 3ms.
func readTime(text string) (first, last int64, ok bool) {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > math.MaxInt64/2 {
		return 0, 0, false
	}
	return int64(d), int64(d + precision(text) - 1), true
}

// precision is what the last digit of a duration stands for.
func precision(text string) time.Duration {
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzµμ")
	unit, err := time.ParseDuration("1" + text[len(number):])
	if err != nil {
		return 1
	}
	if _, digits, ok := strings.Cut(number, "."); ok {
		for range digits {
			unit /= 10
		}
	}
	return max(unit, 1)
}
