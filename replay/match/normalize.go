package match

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcprec/mcprec/transport/phrase"
)

// Normalizer makes the values of two runs comparable: a named function of the texts and
// numbers of both sides. The result is compared and never sent. A program may have further
// normalizers.
type Normalizer struct {
	Name  string
	Does  string // what it makes equal, in one line
	Apply func(string) string

	local bool // depends on words and dates only, not on the whole text
}

// Normalizers returns the normalizers of the command line. By default no normalizer applies.
//
// To add one: add it here, with a function of a text that changes nothing in its own result. The flag
// --normalize, its help, and the hint at a difference that it would take away read this list.
func Normalizers() []Normalizer {
	return []Normalizer{
		{"uuid", "every UUID is as any other, also within text", uuids, true},
		{"time", "every point in time: RFC 3339 and its relatives, Date headers, Unix times since 2001 in milliseconds and since 2017 in seconds, times of day; also within text and within base64 that is text", func(text string) string { return eachTime(text, func(string) string { return "[time]" }) }, true},
		{"duration", "every time that something took: 12ms, 1.5 seconds, 2m30s; also within text", durations, true},
		{"port", "every port behind a host: localhost:4711, 127.0.0.1:80, http://host:8080/; also within text", ports, true},
	}
}

// Normalized returns the normalizers of these names, and panics at another name: see [Normalizers].
func Normalized(names ...string) []Normalizer {
	list, err := ParseNormalizers(strings.Join(names, ","))
	if err != nil {
		panic(err)
	}
	return list
}

// ParseNormalizers reads a list of names: uuid,time.
func ParseNormalizers(names string) ([]Normalizer, error) {
	all := Normalizers()
	var list []Normalizer
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(normalizer Normalizer) bool { return normalizer.Name == strings.TrimSpace(name) })
		if i < 0 {
			var names []string
			for _, n := range all {
				names = append(names, n.Name)
			}
			return nil, fmt.Errorf("normalizer %q: want some of %s", name, strings.Join(names, ", "))
		}
		list = append(list, all[i])
	}
	return list, nil
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

// timesWithin replaces the times within base64 of text with times.
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

// Clock is the time during which a session was recorded. A point in time within it was read
// from a clock; any other is content, such as a date of birth or a deadline.
type Clock struct{ From, To time.Time }

// slack is how far the clock of a peer may be from the recorder's.
const slack = time.Minute

// zoneStep divides the offsets of all time zones.
const zoneStep = 15 * time.Minute

// clockNormalizer makes equal all points in time within their own session. There is none
// where a session has no time of recording.
func clockNormalizer(clocks []Clock) (Normalizer, bool) {
	for _, c := range clocks {
		if c.From.Unix() <= 0 {
			return Normalizer{}, false
		}
	}
	read := func(found string) string {
		for _, c := range clocks {
			if c.has(found) {
				return "[clock]"
			}
		}
		return found
	}
	return Normalizer{
		Name:  "clock",
		Does:  "every point in time within the session that it is from",
		local: true,
		Apply: func(text string) string { return eachTime(text, read) },
	}, len(clocks) > 0
}

// eachTime replaces the points in time of a text, also within base64 that encodes text.
func eachTime(text string, as func(string) string) string {
	if !mayHaveTime(text) {
		return text
	}
	text = base64Text().ReplaceAllStringFunc(text, func(encoded string) string { return timesWithin(encoded, as) })
	return timeText().ReplaceAllStringFunc(text, as)
}

// mayHaveTime is a cheap necessary condition for a point in time: digits on both sides of a
// mark, as in 10:00 or 2026-11-21, eight digits in a row, or base64.
func mayHaveTime(text string) bool {
	digits, words := 0, 0
	for i := range len(text) {
		c := text[i]
		isDigit := '0' <= c && c <= '9'
		switch {
		case isDigit:
			if digits++; digits == 8 || i > 1 && strings.IndexByte(":-/.", text[i-1]) >= 0 && '0' <= text[i-2] && text[i-2] <= '9' {
				return true
			}
		default:
			digits = 0
		}
		if words++; !isWordByte(c) && c != '+' && c != '/' {
			words = 0
		}
		if words == 16 {
			return true
		}
	}
	return false
}

// has reports whether a text is a point in time during the recording.
func (c Clock) has(text string) bool {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		for n > 1e11 { // milliseconds, microseconds or nanoseconds
			n /= 1000
		}
		return c.isWithin(time.UnixMilli(int64(n * 1000)))
	}
	text, _, _ = strings.Cut(text, " (") // the zone's name
	for _, form := range clockForms {
		t, err := time.Parse(form.layout, text)
		if err != nil {
			continue
		}
		switch form.lacks {
		case 'z':
			near := t.Sub(c.From).Abs() <= c.To.Sub(c.From)+24*time.Hour
			return near && c.isWithinZone(t)
		case 'd':
			return c.isWithinZone(t)
		case 't':
			return !t.Before(c.From.Add(-36*time.Hour)) && !t.After(c.To.Add(24*time.Hour))
		}
		return c.isWithin(t)
	}
	return false
}

func (c Clock) isWithin(t time.Time) bool {
	return !t.Before(c.From.Add(-slack)) && !t.After(c.To.Add(slack))
}

// isWithinZone is isWithin for a time of day in any time zone.
func (c Clock) isWithinZone(t time.Time) bool {
	step := int64(zoneStep / time.Second) // a year without a name is too far for a Duration
	since := ((t.Unix()-c.From.Add(-slack).Unix())%step + step) % step
	return time.Duration(since)*time.Second <= c.To.Sub(c.From)+2*slack
}

// clockForms are the layouts in which programs write points in time. Some lack the zone
// ('z'), the day ('d'), or the time of day ('t').
var clockForms = []struct {
	layout string
	lacks  byte
}{
	{time.RFC3339, 0}, {"2006-01-02 15:04:05Z07:00", 0}, {"2006-01-02T15:04:05-0700", 0}, {"2006-01-02 15:04:05 -0700", 0},
	{"2006-01-02 15:04:05-0700", 0}, {"2006-01-02 15:04:05 MST", 0}, {"20060102T150405Z", 0}, {"2006-01-02T15:04Z07:00", 0},
	{time.RFC1123, 0}, {time.RFC1123Z, 0}, {time.UnixDate, 0}, {"Mon Jan 02 2006 15:04:05 GMT-0700", 0}, {"Mon Jan 02 2006 15:04:05 MST-0700", 0},
	{"2006-01-02T15:04:05", 'z'}, {"2006-01-02 15:04:05", 'z'}, {"2006-01-02_15:04:05", 'z'}, {"2006-01-02T15-04-05", 'z'}, {"20060102T150405", 'z'},
	{"1/2/2006, 3:04:05 PM", 'z'}, {"1/2/2006 3:04:05 PM", 'z'}, {"1/2/2006, 15:04:05", 'z'}, {"2/1/2006, 15:04:05", 'z'}, {"2.1.2006, 15:04:05", 'z'},
	{time.ANSIC, 'z'}, {"Jan 2 15:04:05", 'd'}, {"15:04:05", 'd'}, {"3:04:05 PM", 'd'}, {"03:04:05PM", 'd'},
	{time.DateOnly, 't'}, {"1/2/2006", 't'}, {"2/1/2006", 't'},
}
