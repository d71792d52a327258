package filter

import (
	"fmt"
	"strconv"
	"strings"

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
		if r := p.rest(); r == "" || !strings.ContainsRune(f.splits, rune(r[0])) {
			return t, p.end(f)
		}
		p.at++
	}
}

// end says that a term is followed by a blank or the end.
func (p *parser) end(f Field) error {
	if r := p.rest(); r == "" || strings.ContainsRune(blanks, rune(r[0])) {
		return nil
	}
	return fault(p.at, "want a blank, the end or one of %s, found %s", f.splits, strconv.Quote(shorten(p.rest())))
}

// field reads the name of a field and its colon, if there is one before the term ends.
func (p *parser) field() (Field, error) {
	r := p.rest()
	name := r[:len(r)-len(strings.TrimLeft(r, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"))]
	if !strings.HasPrefix(r[len(name):], ":") {
		return anywhere, nil
	}
	for _, f := range fields {
		if f.Name == name {
			p.at += len(name) + 1
			return f, nil
		}
	}
	return Field{}, fault(p.at, "no field %s; want one of %s, or a text in quotes", strconv.Quote(shorten(name)), fieldNames())
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
