package replay

import (
	"regexp"
	"strings"
	"unicode"
)

// token is a part of a text that may be a value on its own: a word, or what is
// made up of more than one.
type token struct {
	text       string
	shape      string // what it looks like; "" is a word
	start, end int
}

// tokenPattern finds tokens: redacted values, times, hosts with a port, and words,
// of which the shape is told afterwards.
var tokenPattern = regexp.MustCompile(`(\[redacted:[0-9a-f]{16}\])` +
	`|(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)` +
	`|((?:localhost|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[[0-9a-f:]*:[0-9a-f:]*\]):\d{2,5})` +
	`|(\w[\w-]*)`)

// tokensOf splits a text.
func tokensOf(text string) []token {
	var list []token
	for _, at := range tokenPattern.FindAllStringSubmatchIndex(text, -1) {
		t := token{text: text[at[0]:at[1]], start: at[0], end: at[1]}
		switch {
		case at[2] >= 0:
			t.shape = "redacted"
		case at[4] >= 0:
			t.shape = "time"
		case at[6] >= 0:
			t.shape = "port"
		default:
			t.shape = wordShape(t.text)
		}
		list = append(list, t)
	}
	return list
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

var uuidPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// wordShape says what a word looks like: uuid, digits, hex, or opaque where letters
// and digits take turns as nobody would write them; "" for words that people use.
func wordShape(word string) string {
	if len(word) < 8 {
		return ""
	}
	digits, hex, turns := 0, 0, 0
	last := rune(0)
	for _, c := range word {
		kind := 'a'
		switch {
		case unicode.IsDigit(c):
			kind = '0'
			digits++
			hex++
		case 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F':
			hex++
		case c == '-' || c == '_':
			kind = last
		}
		if unicode.IsUpper(c) {
			kind = 'A'
		}
		if kind != last && last != 0 {
			turns++
		}
		last = kind
	}
	switch n := len(word); {
	case digits == n:
		return "digits"
	case uuidPattern.MatchString(word):
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
	if list := tokensOf(text); len(list) == 1 && len(list[0].text) == len(text) {
		return list[0].shape != ""
	}
	return len(text) >= 16 && base64Pattern.MatchString(text) && wordShape(strings.NewReplacer("+", "a", "/", "b", "=", "").Replace(text)) != ""
}

var base64Pattern = regexp.MustCompile(`^[A-Za-z0-9+/_-]+={0,2}$`)
