package workload

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// formats are texts of the formats that JSON Schema names.
var formats = map[string]string{
	"uri": "http://127.0.0.1:9/", "url": "http://127.0.0.1:9/", "uri-reference": "/", "iri": "http://127.0.0.1:9/",
	"date-time": "2026-01-01T00:00:00Z", "date": "2026-01-01", "time": "00:00:00Z", "duration": "PT1S",
	"email": "a@example.com", "hostname": "localhost", "ipv4": "127.0.0.1", "ipv6": "::1",
	"uuid": "00000000-0000-4000-8000-000000000000", "regex": "a", "json-pointer": "/a", "byte": "YQ==", "binary": "a",
}

// text returns a text.
func (m maker) text(s map[string]any, name string) (any, bool) {
	least, _ := limitOf(s, "minLength")
	if pattern, isThere := s["pattern"].(string); isThere {
		text, isFound := textFor(pattern, least)
		return text, isFound
	}
	format, _ := s["format"].(string)
	text := formats[format]
	if text == "" {
		text = ofName(name)
	}
	if most, isThere := limitOf(s, "maxLength"); isThere && len(text) > most {
		text = text[:max(most, 0)]
	}
	if least > 1<<16 {
		return nil, false
	}
	return text + strings.Repeat("a", max(0, least-len(text))), true
}

// plainText is a text of which nothing more is known.
const plainText = "a"

// ofName returns a text for a member of a name: folders and files are in the server's own folder, and an address is
// one at which nobody listens.
func ofName(name string) string {
	name = strings.ToLower(name)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
	}
	switch {
	case has("uri", "url"):
		return "http://127.0.0.1:9/"
	case has("path", "dir", "folder", "cwd"):
		return FolderMark
	case has("file"):
		return FolderMark + "/a.txt"
	}
	return plainText
}

// examplesIn returns what a description of an argument gives as examples: KGX and EUS of "Station code, e.g. KGX or EUS". It
// returns nothing that a file, an address or a command may be, and a number as a number, too.
func examplesIn(description string) (values []any) {
	const most = 8
	rest, first := "", ""
	for _, word := range []string{"e.g.", "for example", "for instance", "example:", "examples:", "one of:"} {
		if behind, isThere := behindFold(description, word); isThere {
			rest = strings.TrimLeft(behind, " ,:")
			break
		}
	}
	for rest != "" && len(values) < most {
		value, behind, isQuoted := exampleAt(rest)
		isAlike := first == "" || isQuoted || isUpper(value) && isUpper(first)
		if value == "" || !isAlike || strings.ContainsAny(value, `/\<>{}|;&$@`) || hasEnding(value) {
			break
		}
		first = cmp.Or(first, value)
		values = append(values, value)
		if json.Valid([]byte(value)) && strings.Trim(value, "0123456789.") == "" {
			values = append(values, json.Number(value))
		}
		rest = ""
		for _, word := range []string{",", "or ", "and "} { // or both, such as ", or "
			if next, isMore := strings.CutPrefix(strings.TrimLeft(behind, " "), word); isMore {
				rest = strings.TrimLeft(next, " ")
				behind = rest
			}
		}
	}
	return values
}

// behindFold returns what stands in a text behind a word, in whatever capitals.
func behindFold(text, word string) (behind string, isThere bool) {
	for at := range len(text) - len(word) + 1 {
		if end := at + len(word); strings.EqualFold(text[at:end], word) {
			return text[end:], true
		}
	}
	return "", false
}

// exampleAt returns the example with which a text begins, and what stands behind it: what stands in quotes, or a word and all that
// are written with a capital or a digit behind that, such as New York.
func exampleAt(text string) (value, behind string, isQuoted bool) {
	if quote := text[:1]; strings.Contains("'\"`", quote) {
		value, behind, isQuoted = strings.Cut(text[1:], quote)
		return value, behind, isQuoted
	}
	end := 0
	for end < len(text) {
		length := strings.IndexAny(text[end:], " ,;()")
		if length < 0 {
			length = len(text) - end
		}
		end += length
		if end+1 >= len(text) || text[end] != ' ' || text[end-1] == '.' || !isUpper(text[:1]) || !isUpper(text[end+1:]) {
			break
		}
		end++
	}
	return strings.TrimRight(text[:end], ".:"), text[end:], false
}

// hasEnding reports whether a letter stands behind a dot, as in the name of a file or a host.
func hasEnding(value string) bool {
	for _, part := range strings.Split(value, ".")[1:] {
		if first, _ := utf8.DecodeRuneInString(part); unicode.IsLetter(first) {
			return true
		}
	}
	return false
}

// isUpper reports whether a text begins with a capital or a digit.
func isUpper(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return unicode.IsUpper(first) || unicode.IsDigit(first)
}
