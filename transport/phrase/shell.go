package phrase

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ShellLine quotes words for a shell and joins them with blanks.
func ShellLine(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = ShellWord(word)
	}
	return strings.Join(quoted, " ")
}

// ShellWord quotes a word for a shell where it must be quoted: a folder with a blank in its name, a
// URL with a question mark. Characters that cannot be printed become escapes, which bash, zsh and
// POSIX.1-2024 read in $'…'.
func ShellWord(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./@:=+,%"
	switch {
	case word != "" && strings.Trim(word, plain) == "":
		return word
	case OneLine(word) == word:
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for len(word) > 0 {
		c, size := utf8.DecodeRuneInString(word)
		switch {
		case c == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, word[0])
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(c))
		case strconv.IsPrint(c):
			b.WriteRune(c)
		case c <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
		word = word[size:]
	}
	b.WriteString("'")
	return b.String()
}
