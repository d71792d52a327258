package check

import (
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/replay/phrase"
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
func clip(s string) string { return phrase.Clip(s, 48) }

// quote is clip for a name in quotation marks.
func quote(s string) string { return strconv.Quote(phrase.Shorten(s, 48)) }
