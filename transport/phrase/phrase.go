// Package phrase words a report: names that peers chose, counts, durations, lines for a shell, and
// texts as wide as a terminal's columns.
//
// A peer's text is kept short, and quoted where it would break the line or drive a
// terminal. Nouns agree with their counts. The functions are pure and accept any input.
// Two are no wording: [ParseAge] reads a duration that a user wrote, and [Regexp] compiles a fixed
// pattern when it is first used.
package phrase

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
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

// Agree returns the word for a count: "is" or "are", "it" or "them".
func Agree[N ~int | ~uint64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Shorten cuts a text between characters, after limit bytes at most.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// Clip shortens a name that a peer chose and keeps it on one line.
func Clip(s string, limit int) string { return OneLine(Shorten(s, limit)) }

// NameLimit is how many bytes of a name that a peer chose stand in a report.
const NameLimit = 48

// Name is Clip to the NameLimit.
func Name(s string) string { return Clip(s, NameLimit) }

// QuotedName returns a name in quotes, shortened to the NameLimit.
func QuotedName(s string) string { return strconv.Quote(Shorten(s, NameLimit)) }

// OneLine quotes a text with characters that cannot be printed.
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

// terminal measures text independently of the environment's locale.
var terminal = &runewidth.Condition{StrictEmojiNeutral: true}

// Columns returns how many columns of a terminal a text takes.
func Columns(s string) int { return terminal.StringWidth(s) }

// CutColumns shortens a text to a number of columns, between characters.
func CutColumns(s string, columns int) string {
	if Columns(s) <= columns {
		return s
	}
	return terminal.Truncate(s, columns, "…")
}

// RuneColumns returns how many columns a character takes; of a tab, how many at most.
func RuneColumns(r rune) int {
	if r == '\t' {
		return 8
	}
	return terminal.RuneWidth(r)
}
