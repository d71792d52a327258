package filter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Field is a word of the language.
type Field struct {
	Name  string
	Wants string // the values
	Says  string // the selected events
	List  bool   // Wants lists all values

	ahead   bool // about the end of a call
	matcher func(value) (matcher, error)
}

// Fields lists the fields.
func Fields() []Field { return slices.Clone(fields) }

var fields = []Field{
	{Name: "tool", Wants: "a tool's name", Says: "calls of the tool", matcher: named(func(subject *subject) (string, bool) {
		if subject.call == nil || subject.call.Method != mcp.MethodCallTool {
			return "", false
		}
		return subject.call.Target, true
	})},
	{Name: "method", Wants: "a method", Says: "calls and notifications of the method", matcher: func(v value) (matcher, error) {
		fits := v.pattern()
		return func(subject *subject) bool {
			m := subject.message
			return m != nil && (m.Method != "" && fits(m.Method) || subject.call != nil && fits(subject.call.Method))
		}, nil
	}},
	{Name: "target", Wants: "a name or a URI", Says: "what is about the tool, prompt or resource", matcher: named(func(s *subject) (string, bool) {
		switch {
		case s.call != nil:
			return s.call.Target, s.call.Target != ""
		case s.message != nil:
			return s.message.Target, s.message.Target != ""
		}
		return "", false
	})},
	{Name: "id", Wants: `an id as JSON has it: 7 or "7"`, Says: `calls with the id as JSON has it: 7, or "7"`, matcher: matchID},
	{Name: "dir", Wants: "c2s or s2c", Says: "what went that way, c2s or s2c", matcher: func(value value) (matcher, error) {
		dir, err := transport.ParseDirection(value.text)
		if err != nil || dir == transport.NoDirection {
			return nil, failure(value.at, "dir: wants c2s or s2c, not %s", value.quote())
		}
		return func(subject *subject) bool { return subject.entry.Dir == dir }, nil
	}},
	{Name: "kind", Wants: "one of " + strings.Join(kindNames, ", "), Says: "events or messages of the kind", List: true, matcher: matchKind},
	{Name: "status", Wants: statusWants, Says: "calls that ended so, HTTP answers and errors by number", List: true, ahead: true, matcher: matchStatus},
	{Name: "took", Wants: "a range of durations, such as >1.5s", Says: "calls whose answer took as long, or is not there for as long: >100ms", ahead: true,
		matcher: inTimes("took:", func(subject *subject) (time.Duration, bool) {
			if subject.call == nil || subject.call.Response == 0 && subject.call.Latency == 0 {
				return 0, false
			}
			return subject.call.Latency, true
		})},
	{Name: "at", Wants: "a range of times, such as >1.5s or 1s..2s", Says: "events in that time: >1.5s, 1s..2s, 2s (up to 3s)",
		matcher: inTimes("at:", func(subject *subject) (time.Duration, bool) { return subject.entry.At, true })},
	{Name: "seq", Wants: "a range of events, such as 5..9", Says: "events by their number: 12, 5..9, >100",
		matcher: inNumbers(func(entry *timeline.Entry) uint64 { return entry.Seq })},
	{Name: "stream", Wants: "a range of numbers", Says: "events of the HTTP exchange",
		matcher: inNumbers(func(entry *timeline.Entry) uint64 { return entry.Stream })},
}

// anyText is the field without a name: a text anywhere in the event.
var anyText = Field{Wants: "a text", matcher: matchText}

// named makes the fields with a text to compare.
func named(text func(*subject) (string, bool)) func(value) (matcher, error) {
	return func(value value) (matcher, error) {
		fits := value.pattern()
		return func(subject *subject) bool {
			found, ok := text(subject)
			return ok && fits(found)
		}, nil
	}
}

// matchID compares ids as JSON: the number 7 is not the text "7". A word without a meaning in
// JSON is a text.
func matchID(value value) (matcher, error) {
	if !value.quoted && strings.Contains(value.text, "*") {
		fits := value.pattern()
		return func(subject *subject) bool {
			return slices.ContainsFunc(subject.ids(), func(id string) bool {
				var text string
				if json.Unmarshal([]byte(id), &text) != nil {
					text = id
				}
				return fits(text)
			})
		}, nil
	}
	want := value.text
	if value.quoted || !json.Valid([]byte(want)) {
		b, _ := json.Marshal(want) // a string always marshals
		want = string(b)
	}
	key := idKey(want)
	return func(subject *subject) bool {
		return slices.ContainsFunc(subject.ids(), func(id string) bool { return idKey(id) == key })
	}, nil
}

func idKey(id string) mcp.Key { return mcp.KeyOf(json.RawMessage(strings.TrimSpace(id))) }

// ids lists the ids of the message and of the call, as raw JSON.
func (s *subject) ids() (list []string) {
	if s.message != nil && s.message.ID != "" {
		list = append(list, s.message.ID)
	}
	if s.call != nil && (s.message == nil || s.call.ID != s.message.ID) {
		list = append(list, s.call.ID)
	}
	return list
}

// kindNames are the values of kind: messages, frames without messages, events.
var kindNames = []string{
	"request", "response", "notification", "invalid", "stray", "batch", "message",
	string(store.Opened), string(store.Delivered), string(store.Stalled), string(store.Stderr), string(store.HTTP),
	string(store.EOF), string(store.Exited), string(store.Signal), string(store.Lost), string(store.Note), string(store.Closed),
}

func matchKind(value value) (matcher, error) {
	short := map[string]string{"req": "request", "resp": "response", "notify": "notification"} // as in other programs
	want := cmp.Or(short[value.text], value.text)
	if !slices.Contains(kindNames, want) {
		return nil, failure(value.at, "kind: wants one of %s, not %s", strings.Join(kindNames, ", "), value.quote())
	}
	return func(subject *subject) bool {
		switch want {
		case "message":
			return subject.entry.Kind == store.Frame
		case "stray":
			return subject.entry.Noise
		case "batch":
			return subject.entry.Batch
		}
		return want == string(subject.entry.Kind) || subject.message != nil && want == subject.message.Kind.String()
	}, nil
}

// statusWords are the words of status. Several may hold of a call: answered and
// cancelled, for example.
var statusWords = map[string]matcher{
	"pending":   func(s *subject) bool { return s.call != nil && s.call.Response == 0 && s.call.Cancelled == 0 },
	"ok":        func(s *subject) bool { return s.call != nil && s.call.Response != 0 && s.call.Failure == "" },
	"error":     isError,
	"err":       isError,
	"cancelled": func(subject *subject) bool { return subject.call != nil && subject.call.Cancelled != 0 },
	"late":      func(subject *subject) bool { return subject.call != nil && subject.call.Late },
	"orphan": func(subject *subject) bool { // a response, progress or a cancellation of no call
		m := subject.message
		return m != nil && subject.call == nil &&
			(m.Kind == transport.Response || m.Method == mcp.NotificationProgress || m.Method == mcp.NotificationCancelled)
	},
}

const statusWants = "one of pending, ok, error, cancelled, late, orphan, or a number such as 404, 4xx or -32601"

func matchStatus(value value) (matcher, error) {
	if word, ok := statusWords[value.text]; ok {
		return word, nil
	}
	if _, err := strconv.Atoi(value.text); err == nil {
		isCode := func(failure string) bool {
			words := strings.Fields(failure)
			return len(words) > 1 && words[0] == "error" && words[1] == value.text
		}
		return func(s *subject) bool {
			return s.httpStatus() != 0 && strconv.Itoa(s.httpStatus()) == value.text ||
				s.message != nil && isCode(s.message.Failure) || s.call != nil && isCode(s.call.Failure)
		}, nil
	}
	if class, ok := strings.CutSuffix(value.text, "xx"); ok && len(class) == 1 && '1' <= class[0] && class[0] <= '5' {
		return func(subject *subject) bool { return subject.httpStatus()/100 == int(class[0]-'0') }, nil
	}
	return nil, failure(value.at, "status: wants %s, not %s", statusWants, value.quote())
}

// isError reports a failed call, an error without a call, or an HTTP status from 400 on.
func isError(subject *subject) bool {
	switch {
	case subject.call != nil:
		return subject.call.Failure != ""
	case subject.message != nil:
		return subject.message.Failure != ""
	}
	return subject.httpStatus() >= 400
}

// httpStatus returns the status of an HTTP response, 0 of any other event.
func (s *subject) httpStatus() int {
	if s.entry.Kind != store.HTTP {
		return 0
	}
	info, err := store.DecodePayload[store.HTTPInfo](store.Event{Kind: store.HTTP, Payload: s.entry.Payload})
	if err != nil {
		return 0
	}
	return info.Status
}

// matchText looks for a text without minding case: in the bytes of the event, in the words of
// show, and in the call's method and target, which a response does not repeat.
func matchText(value value) (matcher, error) {
	parts := []string{value.text}
	if !value.quoted {
		parts = strings.Split(value.text, "*")
	}
	for i, part := range parts {
		parts[i] = strings.ToLower(part)
	}
	return func(subject *subject) bool {
		if contains(subject.entry.Payload, parts) || contains(unescape(subject.entry.Payload), parts) {
			return true
		}
		words := subject.entry.Text
		if subject.message != nil {
			words += " " + subject.message.Summary()
		}
		if subject.call != nil {
			words += " " + subject.call.Method + " " + subject.call.Target
		}
		return contains([]byte(words), parts)
	}, nil
}

// contains reports whether the parts, in lower case, stand in text in order.
func contains(text []byte, parts []string) bool {
	if len(text) == 0 {
		return false
	}
	text = bytes.ToLower(text)
	for _, part := range parts {
		i := bytes.Index(text, []byte(part))
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}

// unescape decodes the \u escapes of JSON; without escapes it returns nil.
func unescape(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\u`)) {
		return nil
	}
	var out []byte
	for len(data) > 0 {
		if unit, ok := escapedUnit(data); ok {
			data = data[6:]
			if low, ok := escapedUnit(data); ok && utf16.DecodeRune(unit, low) != utf8.RuneError {
				unit = utf16.DecodeRune(unit, low)
				data = data[6:]
			}
			out = utf8.AppendRune(out, unit)
			continue
		}
		size := 1
		if data[0] == '\\' && len(data) > 1 {
			size = 2
		}
		out = append(out, data[:size]...)
		data = data[size:]
	}
	return out
}

// escapedUnit reads one \u escape: a UTF-16 code unit.
func escapedUnit(data []byte) (rune, bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	return rune(n), err == nil
}

// pattern compares whole texts: * in a value that is not quoted stands for any text.
func (v value) pattern() func(string) bool {
	if v.quoted || !strings.Contains(v.text, "*") {
		return func(s string) bool { return s == v.text }
	}
	parts := strings.Split(v.text, "*")
	first := parts[0]
	last := parts[len(parts)-1]
	between := parts[1 : len(parts)-1]
	return func(s string) bool {
		if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
			return false
		}
		s = s[len(first) : len(s)-len(last)]
		for _, part := range between {
			i := strings.Index(s, part)
			if i < 0 {
				return false
			}
			s = s[i+len(part):]
		}
		return true
	}
}

// span is a range of whole numbers, both ends included.
type span struct{ from, to int64 }

func (s span) has(n int64) bool { return s.from <= n && n <= s.to }

// parseSpan reads >N, >=N, <N, <=N, A..B with either end left out, or N alone. read
// returns the first and the last number that a text stands for.
func parseSpan(text string, read func(string) (first, last int64, ok bool)) (s span, ok bool) {
	s = span{math.MinInt64, math.MaxInt64}
	if from, to, two := strings.Cut(text, ".."); two {
		okFrom, okTo := from == "", to == ""
		if !okFrom {
			s.from, _, okFrom = read(from)
		}
		if !okTo {
			_, s.to, okTo = read(to)
		}
		return s, okFrom && okTo && text != ".."
	}
	number := strings.TrimLeft(text, "<>=")
	first, last, ok := read(number)
	switch text[:len(text)-len(number)] {
	case "":
		s = span{first, last}
	case ">":
		s.from = last + 1
	case ">=":
		s.from = first
	case "<":
		s.to = first - 1
	case "<=":
		s.to = last
	default:
		ok = false
	}
	return s, ok
}

// inNumbers makes the fields with a number of the event to compare.
func inNumbers(number func(*timeline.Entry) uint64) func(value) (matcher, error) {
	return func(value value) (matcher, error) {
		s, ok := parseSpan(value.text, func(text string) (int64, int64, bool) {
			n, err := strconv.ParseInt(strings.TrimPrefix(text, "#"), 10, 64)
			return n, n, err == nil && 0 <= n && n < math.MaxInt64
		})
		if !ok {
			return nil, failure(value.at, "want a number or a range such as 5..9 or >100, not %s", value.quote())
		}
		return func(sub *subject) bool { return s.has(int64(number(sub.entry))) }, nil
	}
}

// inTimes makes the fields with a time or a duration to compare.
func inTimes(field string, duration func(*subject) (time.Duration, bool)) func(value) (matcher, error) {
	return func(v value) (matcher, error) {
		s, ok := parseSpan(v.text, parseTime)
		if !ok {
			return nil, failure(v.at, "%s wants a time or a range such as >1.5s, <20ms or 1s..2s, not %s", field, v.quote())
		}
		return func(sub *subject) bool {
			d, ok := duration(sub)
			return ok && s.has(int64(d))
		}, nil
	}
}

// parseTime reads a duration, or seconds without a unit as in show. It stands for every time
// with the same first digits: 1.5s is up to 1.6s, 2ms up to 3ms.
func parseTime(text string) (first, last int64, ok bool) {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > math.MaxInt64/2 {
		return 0, 0, false
	}
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzµμ")
	precision, err := time.ParseDuration("1" + text[len(number):]) // of the last digit
	if err != nil {
		precision = 1
	}
	if _, digits, ok := strings.Cut(number, "."); ok {
		for range digits {
			precision /= 10
		}
	}
	return int64(d), int64(d + max(precision, 1) - 1), true
}
