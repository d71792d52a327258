package filter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Filter is a parsed expression.
type Filter struct {
	text  string
	terms []term
}

// matcher reports whether a subject fits a value of a term.
type matcher func(*subject) bool

// term holds when a value fits, or if negated when no value fits.
type term struct {
	not     bool
	ahead   bool
	outcome bool // status: with words for how a call ends
	tool    bool // tool:
	named   bool // tool:, method: or target:
	matches []matcher
}

// subject is the event, a message of an event, or the call to be judged by a filter.
type subject struct {
	entry   *timeline.Entry
	message *timeline.EntryMessage // nil: the event is no frame, or has no message
	call    *timeline.Call         // of the message; nil: none
}

// String returns the expression.
func (f *Filter) String() string { return f.text }

// Ahead reports whether the filter asks how a call ends. An entry only knows the end if the
// transcript foresees the calls: see [timeline.Transcript.Foresee].
func (f *Filter) Ahead() bool {
	return slices.ContainsFunc(f.terms, func(term term) bool { return term.ahead })
}

// Named reports whether the names of a method and of its tool, prompt or resource decide, and nothing else.
func (f *Filter) Named() bool {
	return !slices.ContainsFunc(f.terms, func(term term) bool { return !term.named })
}

// Selects reports whether the event fits. A nil filter selects everything.
func (f *Filter) Selects(entry *timeline.Entry) bool {
	if f == nil || len(f.terms) == 0 {
		return true
	}
	if len(entry.Messages) == 0 {
		return f.fits(&subject{entry: entry})
	}
	for i := range entry.Messages {
		m := &entry.Messages[i]
		if f.fits(&subject{entry, m, m.Call}) {
			return true
		}
	}
	return false
}

// SelectsCall reports whether the call fits, as its request would.
func (f *Filter) SelectsCall(c *timeline.Call) bool {
	if f == nil {
		return true
	}
	m := timeline.EntryMessage{Kind: transport.Request, Method: c.Method, Target: c.Target, ID: c.ID, Token: c.Token, Call: c}
	e := timeline.Entry{Seq: c.Request, At: c.At, Kind: "frame", Dir: c.Dir, Stream: c.Stream}
	return f.fits(&subject{&e, &m, c})
}

// OfToolCalls returns the terms that the name of a tool and the outcome of a call decide: those
// of tool:, and of status: with ok, error and pending. whole reports whether these are all terms.
// The result is nil if the filter also selects events of no tool's call.
func (f *Filter) OfToolCalls() (calls *Filter, whole bool) {
	calls = &Filter{text: f.text}
	named := false
	for _, t := range f.terms {
		if t.tool || t.outcome {
			calls.terms = append(calls.terms, t)
		}
		named = named || t.tool && !t.not
	}
	if !named {
		return nil, false
	}
	return calls, len(calls.terms) == len(f.terms)
}

func (f *Filter) fits(subject *subject) bool {
	for _, t := range f.terms {
		holds := slices.ContainsFunc(t.matches, func(matches matcher) bool { return matches(subject) })
		if holds == t.not {
			return false
		}
	}
	return true
}

// Hint returns the term that was meant where a term is a text such as tool=login, or "".
func (f *Filter) Hint() string {
	for _, word := range strings.Fields(f.text) {
		name, value, ok := strings.Cut(strings.TrimLeft(word, "-!"), "=")
		if ok && value != "" && name != "" && slices.ContainsFunc(fields, func(x Field) bool { return x.Name == name }) {
			return strings.Replace(word, "=", ":", 1)
		}
	}
	return ""
}

// Parse reads an expression. The empty expression selects everything.
func Parse(text string) (*Filter, error) {
	p := &parser{text: text}
	f := &Filter{text: text}
	for {
		p.at = len(text) - len(strings.TrimLeft(p.rest(), blanks))
		if p.rest() == "" {
			return f, nil
		}
		t, err := p.term()
		if err != nil {
			return nil, fmt.Errorf("filter %s: %w", strconv.Quote(shorten(text)), err)
		}
		f.terms = append(f.terms, t)
	}
}

type parser struct {
	text string
	at   int
}

const blanks = " \t\r\n"

func (p *parser) rest() string { return p.text[p.at:] }

// ended reports whether a blank, or the end, comes next.
func (p *parser) ended() bool {
	r := p.rest()
	return r == "" || strings.ContainsRune(blanks, rune(r[0]))
}

// value is a value of a field, as it was written.
type value struct {
	text   string
	quoted bool // no character is special
	at     int  // the offset of the first character
}

// quote returns the beginning of the value in quotation marks.
func (v value) quote() string { return strconv.Quote(shorten(v.text)) }

// failure is an error at a place in the expression, counted from 1.
func failure(at int, format string, args ...any) error {
	return fmt.Errorf("at %d: %s", at+1, fmt.Sprintf(format, args...))
}

// shorten keeps a long expression from filling a message.
func shorten(s string) string { return phrase.Shorten(s, 60) }

func (p *parser) term() (t term, err error) {
	if r := p.rest(); r[0] == '-' || r[0] == '!' {
		t.not = true
		p.at++
		if p.ended() {
			return t, failure(p.at, "want a term behind %s, such as %stool:search", r[:1], r[:1])
		}
	}
	f := anyText
	r := p.rest()
	name := r[:len(r)-len(strings.TrimLeft(r, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"))]
	if strings.HasPrefix(r[len(name):], ":") {
		i := slices.IndexFunc(fields, func(field Field) bool { return field.Name == name })
		if i < 0 {
			var names []string
			for _, f := range fields {
				names = append(names, f.Name+":")
			}
			return t, failure(p.at, "no field %s; want one of %s, or a text in quotes", strconv.Quote(shorten(name)), strings.Join(names, " "))
		}
		f = fields[i]
		p.at += len(name) + 1
	}
	t.ahead = f.ahead
	t.tool = f.Name == "tool"
	t.named = t.tool || f.Name == "method" || f.Name == "target"
	t.outcome = f.Name == "status"
	separators := "|,"
	if f.Name == "" {
		separators = "|" // a text may have commas
	}
	for {
		v, err := p.value(f, separators)
		if err != nil {
			return t, err
		}
		matches, err := f.matcher(v)
		if err != nil {
			return t, err
		}
		t.matches = append(t.matches, matches)
		t.outcome = t.outcome && slices.Contains([]string{"ok", "error", "err", "pending"}, v.text)
		if p.ended() {
			return t, nil
		}
		r := p.rest()
		if !strings.ContainsRune(separators, rune(r[0])) {
			return t, failure(p.at, "want a blank, the end or one of %s, found %s", separators, strconv.Quote(shorten(r)))
		}
		p.at++
	}
}

// value reads a value, up to a separator or the end of the term.
func (p *parser) value(field Field, separators string) (value, error) {
	v := value{at: p.at}
	r := p.rest()
	if strings.HasPrefix(r, `"`) {
		end := 1
		for end < len(r) && r[end] != '"' {
			if r[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(r) {
			return v, failure(p.at, "the quote is not closed")
		}
		p.at += end + 1
		v.quoted = true
		v.text = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(r[1:end])
		return v, nil
	}
	if i := strings.IndexAny(r, blanks+separators); i >= 0 {
		r = r[:i]
	}
	p.at += len(r)
	if r == "" {
		return v, failure(p.at, "want %s", field.Wants)
	}
	v.text = r
	return v, nil
}
