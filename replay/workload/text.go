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

// examplesIn returns what a description of an argument gives as examples: KGX and EUS of "Station code, e.g. KGX or EUS", or days of
// "Day, YYYY-MM-DD". It returns nothing that a file, an address or a command may be, and a number as a number, too.
func examplesIn(description string) (values []any) {
	const most = 8
	rest, first, isVague := "", "", false
	for _, word := range []string{"e.g.", "for example", "for instance", "example:", "examples:", "one of:", "such as ", "like "} {
		if behind, isThere := behindFold(description, word); isThere {
			rest = strings.TrimLeft(behind, " ,:")
			isVague = strings.HasSuffix(word, " ") // an example may stand there, or more of the sentence
			break
		}
	}
	for rest != "" && len(values) < most {
		value, behind, isQuoted := exampleAt(rest)
		isAlike := first == "" || isQuoted || isUpper(value) && isUpper(first)
		isLast := strings.TrimLeft(behind, " .)") == "" || strings.HasPrefix(behind, ",")
		isText := isVague && !isQuoted && !isCode(value) && !isLast
		if value == "" || !isAlike || isText || strings.ContainsAny(value, `/\<>{}|;&$@`) || hasEnding(value) {
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
	if len(values) == 0 {
		return moments(description)
	}
	return values
}

// moments returns two moments in a form that a description names, such as YYYY-MM-DD; none if it names none.
func moments(description string) (values []any) {
	isOther := func(r rune) bool { return !unicode.IsLetter(r) && !strings.ContainsRune("-:/.", r) }
	for form := range strings.FieldsFuncSeq(description, isOther) {
		form = strings.Trim(form, "-:/.")
		if !strings.Contains(form, "YYYY-MM") && !strings.Contains(form, "HH:MM") && !strings.Contains(form, "hh:mm") {
			continue
		}
		for _, hour := range []string{"10:30", "11:45"} {
			values = append(values, strings.NewReplacer("HH:MM", hour, "hh:mm", hour, "YYYY", "2026", "MM", hour[:2], "DD", "15", "SS", "00", "ss", "00").Replace(form))
		}
		return values
	}
	return nil
}

// isCode reports whether a text looks like the name of something, and not like a word of a sentence.
func isCode(text string) bool {
	return isUpper(text) || strings.ContainsAny(text, "0123456789-_")
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

// thingsIn returns what a text names, the likeliest first: what stands in quotes, words that are written as names or codes are, such
// as both of "1A30 at Port Road", and what stands at the beginning of a line or between commas.
func thingsIn(text string) (things []any) {
	things = quotedIn(text)
	isMark := func(r rune) bool { return strings.ContainsRune(",;:()[]{}|=<>\t\n", r) }
	parts := strings.FieldsFunc(text, isMark)
	for _, part := range parts {
		var name []string // words with a capital are one
		for _, word := range append(strings.Fields(part), "") {
			hasDigit := strings.ContainsAny(word, "0123456789")
			if isUpper(word) && !hasDigit && len(name) < 3 {
				name = append(name, word)
				continue
			}
			things = addName(things, strings.Join(name, " "))
			name = nil
			if isCode(word) && strings.Trim(word, "0123456789") != "." { // the place in a list
				things = addName(things, word)
			}
		}
	}
	for _, part := range parts {
		for side := range strings.SplitSeq(part, " - ") {
			things = addName(things, side)
		}
	}
	return things
}

// offeredIn returns what an error offers in the place of what is wrong: what stands in quotes, or with commas behind a colon.
func offeredIn(says string) (things []any) {
	things = quotedIn(says)
	if _, list, isThere := strings.Cut(says, ": "); isThere && strings.Contains(list, ",") {
		for part := range strings.SplitSeq(strings.NewReplacer(" or ", ",", " and ", ",").Replace(list), ",") {
			things = addName(things, part)
		}
	}
	return things
}

// quotedIn returns what stands in quotes in a text.
func quotedIn(text string) (things []any) {
	for _, quote := range []string{"'", `"`, "`"} {
		for i, part := range strings.Split(text, quote) {
			if i%2 == 1 {
				things = addName(things, part)
			}
		}
	}
	return things
}

// addName adds a name of something, without the marks around it, if it is one and is not there.
func addName(things []any, name string) []any {
	name = strings.Trim(name, " \t.:;!?*-•#'\"`")
	if isShort(name) && !strings.ContainsAny(name, "'\"`\\") && !slices.Contains(things, any(name)) {
		things = append(things, name)
	}
	return things
}

// isShort reports whether a text may be a name: of a few words, on one line.
func isShort(text string) bool {
	const longest, words = 40, 3
	return text != "" && len(text) <= longest && len(strings.Fields(text)) <= words && !strings.ContainsAny(text, "\n\r")
}
