package replay

import (
	"strings"

	"github.com/mcprec/mcprec/replay/phrase"
)

// token is a part of a text that may be a value on its own: a word, or what is
// made up of more than one.
type token struct {
	text       string
	shape      string // what it looks like; "" is a word
	start, end int
}

// What is more than a word, where a text goes on with it.
var (
	maskAhead = phrase.Regexp(`^\[redacted:[0-9a-f]{16}\]`)
	timeAhead = phrase.Regexp(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?`)
	hostAhead = phrase.Regexp(`^(?:localhost|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[[0-9a-f:]*:[0-9a-f:]*\]):\d{2,5}`)
)

// tokensOf splits a text into redacted values, times, hosts with a port, and words,
// and leaves out what is between them.
func tokensOf(text string) []token {
	var list []token
	for i := 0; i < len(text); {
		t := tokenAt(text, i)
		if t.end == i {
			i++
			continue
		}
		t.text, t.start = text[i:t.end], i
		if t.shape == "word" {
			t.shape = wordShape(t.text)
		}
		list = append(list, t)
		i = t.end
	}
	return list
}

// tokenAt returns the token that begins at i; one that ends there is none. The
// patterns are tried only where they may match: they are slow.
func tokenAt(text string, i int) token {
	ahead := text[i:min(len(text), i+64)]
	switch c := text[i]; {
	case c == '[':
		if n := len(maskAhead().FindString(ahead)); n > 0 {
			return token{shape: "redacted", end: i + n}
		}
		return token{shape: "port", end: i + len(hostAhead().FindString(ahead))}
	case !isWord(c) || c == '-':
		return token{end: i}
	case len(ahead) >= 16 && ahead[4] == '-' && ahead[13] == ':':
		if n := len(timeAhead().FindString(ahead)); n > 0 {
			return token{shape: "time", end: i + n}
		}
	}
	end := i
	for end < len(text) && isWord(text[end]) {
		end++
	}
	if end < len(text) && (text[end] == '.' && end-i <= 3 || text[end] == ':' && text[i:end] == "localhost") {
		if n := len(hostAhead().FindString(ahead)); n > 0 {
			return token{shape: "port", end: i + n}
		}
	}
	return token{shape: "word", end: end}
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// shaped are the tokens that look made up.
func shaped(list []token) []token {
	var made []token
	for _, t := range list {
		if t.shape != "" {
			made = append(made, t)
		}
	}
	return made
}

// wordShape says what a word looks like: uuid, digits, hex, or opaque where letters
// and digits take turns as nobody would write them; "" for words that people use.
func wordShape(word string) string {
	if len(word) < 8 {
		return ""
	}
	digits, hex, turns := 0, 0, 0
	last := byte(0)
	for i := range len(word) {
		c, kind := word[i], byte('a')
		switch {
		case '0' <= c && c <= '9':
			kind = '0'
			digits++
			hex++
		case 'a' <= c && c <= 'f':
			hex++
		case 'A' <= c && c <= 'Z':
			kind = 'A'
			if c <= 'F' {
				hex++
			}
		case c == '-' || c == '_':
			kind = last
		}
		if kind != last && last != 0 {
			turns++
		}
		last = kind
	}
	switch n := len(word); {
	case digits == n:
		return "digits"
	case n == 36 && hex == 32 && word[8] == '-' && word[13] == '-' && word[18] == '-' && word[23] == '-':
		return "uuid"
	case n >= 12 && hex == n && digits > 0:
		return "hex"
	case n >= 16 && digits > 0 && turns >= 4:
		return "opaque"
	}
	return ""
}

// isOpaque reports whether a whole value looks made up: base64 too, which is no
// word.
func isOpaque(text string) bool {
	if text == "" {
		return false
	}
	if t := tokenAt(text, 0); t.end == len(text) {
		return t.shape != "word" || wordShape(text) != ""
	}
	return len(text) >= 16 && base64Pattern().MatchString(text) && wordShape(base64Word.Replace(text)) != ""
}

var (
	base64Pattern = phrase.Regexp(`^[A-Za-z0-9+/_-]+={0,2}$`)
	base64Word    = strings.NewReplacer("+", "a", "/", "b", "=", "")
)
