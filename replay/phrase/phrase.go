// Package phrase puts into the words of a report what others chose or counted: names of
// peers, numbers of things, durations.
//
// What a peer chose stays short, and where it would break the line or drive a terminal it
// is quoted. One of something is not said as many. There is no data and no state here, and
// nothing is refused.
package phrase

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Plural returns "1 frame", "2 frames", "2 classes".
func Plural[N ~int | ~uint64](n N, noun string) string {
	if strings.HasSuffix(noun, "s") {
		noun = Agree(n, noun, noun+"es")
	} else {
		noun = Agree(n, noun, noun+"s")
	}
	if n < 0 {
		return strconv.FormatInt(int64(n), 10) + " " + noun
	}
	return strconv.FormatUint(uint64(n), 10) + " " + noun
}

// Agree returns what goes with that many things: "is" or "are", "it" or "them".
func Agree[N ~int | ~uint64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Shorten cuts a text behind a whole character, after limit bytes at most.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// Clip keeps a name that a peer chose from filling a line, and on it.
func Clip(s string, limit int) string { return OneLine(Shorten(s, limit)) }

// OneLine quotes a text that has anything in it which cannot be printed.
func OneLine(s string) string {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(c rune) bool { return !strconv.IsPrint(c) }) {
		return strconv.Quote(s)
	}
	return s
}

// Brief rounds a duration for a sentence.
func Brief(d time.Duration) time.Duration {
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

// Regexp returns a regular expression that is compiled when it is first used: a package's
// variables are initialised in every command, whether it uses them or not.
func Regexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
