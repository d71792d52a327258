package filter

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/phrase"
)

// value is what stands in the place of one value.
type value struct {
	text   string
	quoted bool // as it is: nothing in it means anything
	at     int  // where it begins
}

// Parse reads an expression. The empty one selects everything.
func Parse(text string) (*Filter, error) {
	p := &parser{text: text}
	f := &Filter{text: text}
	for p.blank(); p.rest() != ""; p.blank() {
		t, err := p.term()
		if err != nil {
			return nil, fmt.Errorf("filter %s: %w", strconv.Quote(shorten(text)), err)
		}
		f.terms = append(f.terms, t)
	}
	return f, nil
}

type parser struct {
	text string
	at   int
}

const blanks = " \t\r\n"

func (p *parser) rest() string { return p.text[p.at:] }

func (p *parser) blank() { p.at = len(p.text) - len(strings.TrimLeft(p.rest(), blanks)) }

// fault is an error at a place in the expression, counted from 1.
func fault(at int, format string, args ...any) error {
	return fmt.Errorf("at %d: %s", at+1, fmt.Sprintf(format, args...))
}

func (p *parser) term() (t term, err error) {
	if r := p.rest(); r[0] == '-' || r[0] == '!' {
		t.not = true
		if p.at++; p.rest() == "" || strings.ContainsRune(blanks, rune(p.rest()[0])) {
			return t, fault(p.at, "want a term behind %s, such as %stool:search", r[:1], r[:1])
		}
	}
	f, err := p.field()
	if err != nil {
		return t, err
	}
	t.ahead = f.ahead
	for {
		v, err := p.value(f)
		if err != nil {
			return t, err
		}
		fits, err := f.make(v)
		if err != nil {
			return t, err
		}
		t.fits = append(t.fits, fits)
		r := p.rest()
		if r == "" || strings.ContainsRune(blanks, rune(r[0])) {
			return t, nil
		}
		if !strings.ContainsRune(f.splits, rune(r[0])) {
			return t, fault(p.at, "want a blank, the end or one of %s, found %s", f.splits, strconv.Quote(shorten(r)))
		}
		p.at++
	}
}

// field reads the name of a field and its colon, if there is one before the term ends.
func (p *parser) field() (Field, error) {
	r := p.rest()
	name := r[:len(r)-len(strings.TrimLeft(r, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"))]
	if !strings.HasPrefix(r[len(name):], ":") {
		return anywhere, nil
	}
	var names []string
	for _, f := range fields {
		if f.Name == name {
			p.at += len(name) + 1
			return f, nil
		}
		names = append(names, f.Name+":")
	}
	known := strings.Join(names, " ")
	return Field{}, fault(p.at, "no field %s; want one of %s, or a text in quotes", strconv.Quote(shorten(name)), known)
}

// value reads a value, up to what splits values or terms.
func (p *parser) value(f Field) (value, error) {
	v := value{at: p.at}
	r := p.rest()
	if strings.HasPrefix(r, `"`) {
		quoted, ok := quotedPrefix(r)
		if !ok {
			return v, fault(p.at, "the quote is not closed")
		}
		p.at += len(quoted)
		v.quoted, v.text = true, strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(quoted[1:len(quoted)-1])
		return v, nil
	}
	if i := strings.IndexAny(r, blanks+f.splits); i >= 0 {
		r = r[:i]
	}
	if p.at += len(r); r == "" {
		return v, fault(p.at, "want %s", f.Wants)
	}
	v.text = r
	return v, nil
}

// quotedPrefix returns the text in quotes at the beginning of s, with them.
func quotedPrefix(s string) (string, bool) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return s[:i+1], true
		}
	}
	return "", false
}

// shorten keeps a long expression from filling a message.
func shorten(s string) string { return phrase.Shorten(s, 60) }

// escape reads one \u escape, or a pair of them that is one character.
func escape(b []byte) (r rune, rest []byte, ok bool) {
	r, ok = unit(b)
	if !ok {
		return 0, b, false
	}
	b = b[6:]
	if utf16.IsSurrogate(r) {
		if second, two := unit(b); two {
			if pair := utf16.DecodeRune(r, second); pair != '\uFFFD' {
				return pair, b[6:], true
			}
		}
	}
	return r, b, true
}

func unit(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}

// span is a range of whole numbers, both ends in it.
type span struct{ from, to int64 }

func (s span) has(n int64) bool { return s.from <= n && n <= s.to }

// parseSpan reads >N, >=N, <N, <=N, A..B with either end left out, or N alone: read
// gives the first and the last number that a text means.
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

// numbers makes the fields that compare a number of the event.
func numbers(of func(*replay.Entry) uint64) func(value) (func(*subject) bool, error) {
	return func(v value) (func(*subject) bool, error) {
		s, ok := parseSpan(v.text, func(text string) (int64, int64, bool) {
			n, err := strconv.ParseInt(strings.TrimPrefix(text, "#"), 10, 64)
			return n, n, err == nil && 0 <= n && n < math.MaxInt64
		})
		if !ok {
			return nil, fault(v.at, "want a number or a range such as 5..9 or >100, not %s", strconv.Quote(shorten(v.text)))
		}
		return func(sub *subject) bool { return s.has(int64(of(sub.entry))) }, nil
	}
}

func times(v value) (func(*subject) bool, error) {
	s, err := v.times("at:")
	return func(sub *subject) bool { return s.has(int64(sub.entry.At)) }, err
}

// took selects answered calls.
func took(v value) (func(*subject) bool, error) {
	s, err := v.times("took:")
	return func(sub *subject) bool {
		return sub.call != nil && sub.call.Response != 0 && s.has(int64(sub.call.Latency))
	}, err
}

func (v value) times(field string) (span, error) {
	s, ok := parseSpan(v.text, readTime)
	if !ok {
		return s, fault(v.at, "%s wants a time or a range such as >1.5s, <20ms or 1s..2s, not %s", field, strconv.Quote(shorten(v.text)))
	}
	return s, nil
}

// readTime reads a duration, or seconds without a unit as show prints them. What it
// means is all that begins so: 1.5s is up to 1.6s, 2ms up to 3ms.
func readTime(text string) (first, last int64, ok bool) {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > math.MaxInt64/2 {
		return 0, 0, false
	}
	return int64(d), int64(d + precision(text) - 1), true
}

// precision is what the last digit of a duration stands for.
func precision(text string) time.Duration {
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzµμ")
	unit, err := time.ParseDuration("1" + text[len(number):])
	if err != nil {
		return 1
	}
	if _, digits, ok := strings.Cut(number, "."); ok {
		for range digits {
			unit /= 10
		}
	}
	return max(unit, 1)
}
