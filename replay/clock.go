package replay

import (
	"strconv"
	"strings"
	"time"
)

// Clock is the time in which a session was recorded. A point in time that lies within it
// was read from a clock; one that does not is content: a date of birth, a deadline.
type Clock struct{ From, To time.Time }

// slack is how far the clock of a peer may be from the recorder's.
const slack = time.Minute

// zoneStep divides the offsets of all time zones.
const zoneStep = 15 * time.Minute

// clockNormalizer makes points in time equal that lie within the sessions they are from.
// There is none where a session does not say when it was recorded.
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

// eachTime replaces the points in time of a text, also within base64 that is text.
func eachTime(text string, as func(string) string) string {
	if !mayHaveTime(text) {
		return text
	}
	text = base64Text().ReplaceAllStringFunc(text, func(encoded string) string { return timesWithin(encoded, as) })
	return timeText().ReplaceAllStringFunc(text, as)
}

// mayHaveTime reports whether a text has what is in all points in time: digits with a
// mark between them, as in 10:00 or 2026-11-21, many digits, or base64.
func mayHaveTime(text string) bool {
	digits, words := 0, 0
	for i := range len(text) {
		c := text[i]
		isDigit := '0' <= c && c <= '9'
		switch {
		case isDigit:
			if digits++; digits == 8 || i > 1 && isTimeMark(text[i-1]) && '0' <= text[i-2] && text[i-2] <= '9' {
				return true
			}
		default:
			digits = 0
		}
		if words++; !isWord(c) && c != '+' && c != '/' {
			words = 0
		}
		if words == 16 {
			return true
		}
	}
	return false
}

func isTimeMark(c byte) bool { return c == ':' || c == '-' || c == '/' || c == '.' }

// has reports whether a text is a point in time that the clock may have shown.
func (c Clock) has(text string) bool {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return c.isWithin(unixTime(n))
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

// isWithinZone is isWithin in one of the zones.
func (c Clock) isWithinZone(t time.Time) bool {
	step := int64(zoneStep / time.Second) // a year without a name is too far for a Duration
	since := ((t.Unix()-c.From.Add(-slack).Unix())%step + step) % step
	return time.Duration(since)*time.Second <= c.To.Sub(c.From)+2*slack
}

// unixTime reads seconds, milliseconds, microseconds or nanoseconds.
func unixTime(n float64) time.Time {
	for n > 1e11 {
		n /= 1000
	}
	return time.UnixMilli(int64(n * 1000))
}

// clockForms are the ways in which programs write points in time. Some lack the zone, the
// day, or the time of day.
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
