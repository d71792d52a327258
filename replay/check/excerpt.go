package check

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// excerpt returns the beginning of bytes that mean nothing here, quoted.
func excerpt(b []byte) string {
	const limit = 60
	text := strings.ToValidUTF8(string(b[:min(len(b), limit)]), "\uFFFD")
	quoted := strconv.Quote(strings.TrimSpace(text))
	if len(b) > limit {
		quoted += "…"
	}
	return quoted
}

// clip keeps a name that a peer chose from filling a line.
func clip(s string) string {
	cut := shorten(s, 48)
	if strings.ContainsFunc(cut, func(c rune) bool { return !strconv.IsPrint(c) }) {
		return strconv.Quote(cut)
	}
	return cut
}

// shorten cuts a text behind a whole character.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// brief rounds a duration for a sentence.
func brief(d time.Duration) time.Duration {
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond)
	case d >= time.Second:
		return d.Round(time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d
}
