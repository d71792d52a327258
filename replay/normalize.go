package replay

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcprec/mcprec/replay/phrase"
)

// Normalizer makes the values of two runs comparable: a plain function with a name,
// applied to the texts and numbers of both sides before they are compared. What it
// returns is only compared, never sent. A program may have its own.
type Normalizer struct {
	Name  string
	Does  string // what it makes equal, in one line
	Apply func(string) string

	local bool // looks at words and dates alone, not at the whole text
}

// equal reports whether two texts are the same to the normalizer.
func (n Normalizer) equal(a, b string) bool {
	if n.local {
		a, b = window(a, b)
	}
	return n.Apply(a) == n.Apply(b)
}

// Normalizers returns those that have a name on the command line. None is applied
// unless it is asked for.
func Normalizers() []Normalizer {
	return []Normalizer{
		{"uuid", "every UUID is as any other, also within text", uuids, true},
		{"time", "every point in time: RFC 3339 and its relatives, Date headers, Unix times since 2001 in milliseconds and since 2017 in seconds, times of day; also within text and within base64 that is text", times, true},
		{"duration", "every time that something took: 12ms, 1.5 seconds, 2m30s; also within text", durations, true},
		{"port", "every port behind a host: localhost:4711, 127.0.0.1:80, http://host:8080/; also within text", ports, true},
	}
}

// ParseNormalizers reads a list of names: uuid,time.
func ParseNormalizers(names string) ([]Normalizer, error) {
	var list []Normalizer
	for name := range strings.SplitSeq(names, ",") {
		n, ok := normalizer(strings.TrimSpace(name))
		if !ok {
			return nil, fmt.Errorf("normalizer %q: want some of %s", name, normalizerNames())
		}
		list = append(list, n)
	}
	return list, nil
}

func normalizer(name string) (Normalizer, bool) {
	for _, n := range Normalizers() {
		if n.Name == name {
			return n, true
		}
	}
	return Normalizer{}, false
}

func normalizerNames() string {
	var names []string
	for _, n := range Normalizers() {
		names = append(names, n.Name)
	}
	return strings.Join(names, ", ")
}

var uuidText = phrase.Regexp(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)

func uuids(text string) string {
	if strings.Count(text, "-") < 4 {
		return text
	}
	return uuidText().ReplaceAllLiteralString(text, "[uuid]")
}

var (
	timeText = phrase.Regexp(strings.Join([]string{
		// 2026-11-21T10:00:00.123Z, 2026-11-21 10:00, 20261121T100000Z, 2026-11-21T10-00-00
		`\b\d{4}-\d\d-\d\d(?:[T _]\d\d[:-]\d\d(?:[:-]\d\d(?:[.,]\d+)?)?(?: ?Z\b| ?[+-]\d\d:?\d\d\b| UTC\b| GMT\b)?|\b)`,
		`\b\d{8}T\d{6}Z?\b`,
		// Sat, 21 Nov 2026 10:00:00 GMT; Sat Nov 21 10:00:00 UTC 2026; Sat Nov 21 2026 10:00:00 GMT+0000 (…)
		`\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?(?:\d{1,2} ` + month + `|` + month + ` \d{1,2},?)(?: \d{4})?,?(?: at)? \d\d?:\d\d(?::\d\d)?(?: ?[AP]M\b)?(?: (?:[A-Z]{3,4}\b)?(?:[+-]\d{4}\b)?)?(?: \d{4}\b)?(?: \([A-Za-z ]+\))?`,
		// 21/11/2026, 10:00:00; 11/21/2026 10:00:00 AM
		`\b\d{1,2}[/.]\d{1,2}[/.]\d{4}\b(?:,? \d\d?:\d\d(?::\d\d)?(?: ?[AP]M\b)?)?`,
		// 10:00:00, 10:00:00.123, 10:00:00 AM
		`\b\d\d?:\d\d:\d\d(?:[.,]\d+)?(?: ?[AP]M\b)?`,
		// Unix times: milliseconds, microseconds and nanoseconds since 2001, seconds since 2017
		`\b1\d{12}(?:\d{3}|\d{6})?(?:\.\d+)?\b`,
		`\b1[5-9]\d{8}(?:\.\d+)?\b`,
	}, "|"))
	base64Text = phrase.Regexp(`[A-Za-z0-9+/_-]{16,}={0,2}`)
)

const month = `(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?`

func times(text string) string {
	return eachTime(text, func(string) string { return "[time]" })
}

// timesWithin returns what base64 says with its times replaced, if it is text that
// has some.
func timesWithin(encoded string, as func(string) string) string {
	plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(encoded, "="))
	decoded, err := base64.RawStdEncoding.DecodeString(plain)
	if err != nil || !utf8.Valid(decoded) || strings.ContainsAny(string(decoded), "\x00\x01\x02\x03\x04\x05\x06\x07\x08") {
		return encoded
	}
	text := timeText().ReplaceAllStringFunc(string(decoded), as)
	if text == string(decoded) {
		return encoded
	}
	return "[base64 of " + text + "]"
}

var durationText = phrase.Regexp(`\b(?:\d+(?:\.\d+)? ?(?:ns|µs|μs|us|ms|msecs?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b ?)+|\b(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?s\b`)

func durations(text string) string {
	if !strings.ContainsAny(text, "0123456789") {
		return text
	}
	return durationText().ReplaceAllStringFunc(text, func(found string) string {
		return "[duration]" + found[len(strings.TrimRight(found, " ")):]
	})
}

var portText = phrase.Regexp(`(?i)((?:\blocalhost|\b\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]*:[0-9a-f:.]*\]|://[a-z0-9][a-z0-9.-]*)):\d{1,5}\b|\b(port[ :=]+)\d{2,5}\b`)

func ports(text string) string {
	if !strings.ContainsAny(text, ":=") && !strings.Contains(strings.ToLower(text), "port") {
		return text
	}
	return portText().ReplaceAllString(text, "${1}${2}:[port]")
}
