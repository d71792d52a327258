package redact

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
)

// text is a stretch of text in which secrets are looked for.
type text struct {
	b     []byte
	prev  []byte // what stood before it
	start int    // where it is begun to look
	lead  int    // how much of b was decided before, and may begin a literal
	final bool   // nothing comes after it
	raw   bool   // JSON as it came: it is only asked whether there is a secret
	uri   bool   // only what a URL has of secrets is one
	r     *Redactor

	sights *sights
	spans  []span
	resume int  // where to go on after a hit
	block  bool // a PEM block began whose end has not come

	needless bool   // an escape that need not be is what was found
	plain    []byte // scratch: b without those
}

// span is a secret in a text.
type span struct {
	from, to int
	rule     string
	quote    string // what must stand around the placeholder: it was a number
	secret   string // if not what stands there
}

// verdict is what a matcher says of a place.
type verdict uint8

const (
	no   verdict = iota
	hit          // spans were added
	more         // what comes next decides
)

// matcher looks whether at a literal a secret is, or begins.
type matcher func(t *text, at int) verdict

// found adds a span, unless it is a placeholder already.
func (t *text) found(rule string, from, to int) verdict {
	return t.add(span{from: from, to: to, rule: rule})
}

func (t *text) add(s span) verdict {
	if s.from >= s.to || isMask(t.b[s.from:s.to]) {
		return no
	}
	if s.from < t.lead {
		if s.secret == "" {
			s.secret = string(t.b[s.from:s.to])
		}
		s.from = t.lead
	}
	t.spans = append(t.spans, s)
	t.resume = s.to
	return hit
}

// before returns the byte in front of a place; 0: there is none.
func (t *text) before(at int) byte {
	switch {
	case at > 0:
		return t.b[at-1]
	case at == 0 && len(t.prev) > 0:
		return t.prev[len(t.prev)-1]
	case -at < len(t.prev):
		return t.prev[len(t.prev)-1+at]
	}
	return 0
}

// goesOn reports whether a word, of bytes of a class, goes on at a place. The letter of
// an escape in front of it, as in \nghp_, is of no word, nor is that of a colour.
func (t *text) goesOn(at int, c *class) bool {
	last := t.before(at)
	if !c[last] || t.before(at-1) == '\\' && bytes.IndexByte([]byte("bfnrt"), last) >= 0 || t.colourBefore(at) > 0 {
		return false
	}
	if t.before(at-5) != '\\' || t.before(at-4) != 'u' {
		return true
	}
	return !(hexa[t.before(at-3)] && hexa[t.before(at-2)] && hexa[t.before(at-1)] && hexa[last])
}

// scan finds the spans, and returns up to where all is decided; where JSON is looked at
// as it came, up to the first.
func (t *text) scan() (decided int) {
	f := t.r.finder
	from := t.start
	for i := from; ; {
		if i = f.next(t.b, i, t.sights); i < 0 {
			break
		}
		count := len(t.spans)
		v, at := t.look(i, from, len(t.b))
		if v != no {
			v, at = t.earlier(v, at, i, from, count)
		}
		switch {
		case v == more, v == hit && t.raw:
			return t.user(max(min(at, t.unbegun()), from, t.lead))
		case v == hit:
			from, i = t.resume, t.resume
		default:
			i++
		}
	}
	return t.user(max(from, t.lead, t.unbegun()))
}

// unbegun returns up to where no literal begins whose end has not come.
func (t *text) unbegun() int {
	if t.final {
		return len(t.b)
	}
	return len(t.b) - t.r.finder.partial(t.b)
}

// earlier looks whether a literal that begins before the one that was found, whose spans
// begin at count, is seen only behind it: what begins first comes first.
func (t *text) earlier(v verdict, at, i, from, count int) (verdict, int) {
	f := t.r.finder
	for last := at + f.longest; ; {
		if i = f.next(t.b, i+1, t.sights); i < 0 || i >= last {
			return v, at
		}
		found := len(t.spans)
		w, first := t.look(i, from, at)
		if w == no {
			continue
		}
		t.spans = append(t.spans[:count], t.spans[found:]...)
		v, at = w, first
	}
}

// look tries the literals that may stand at a place or in front of it, if they begin
// from a place on and before another.
func (t *text) look(i, from, to int) (verdict, int) {
	g, f := gramAt(t.b, i), t.r.finder
	if own := f.own(g); len(own) > 0 {
		if v, at := t.try(own, g, i, from, to); v != no {
			return v, at
		}
	}
	return t.try(f.base.at(g), g, i, from, to)
}

func (t *text) try(spots []spot, g uint32, i, from, to int) (verdict, int) {
	for k := range spots {
		s := &spots[k]
		at := i - s.offset
		if s.gram != g || at < from || at >= to || !hasFolded(t.b[at:], s.text) || !t.follows(s.literal, at) {
			continue
		}
		if t.uri && !s.uri && bytes.IndexByte(t.b[:at], '?') < 0 {
			continue
		}
		if v := s.match(t, at); v != no {
			return v, at
		}
	}
	return no, i
}

// follows reports whether behind a literal stands what must.
func (t *text) follows(l *literal, at int) bool {
	end := at + len(l.text)
	return l.follow == nil || end < len(t.b) && l.follow[t.b[end]]
}

// patternReach is how long a secret that a user's pattern finds may be where it is cut.
const patternReach = 1 << 10

// user adds what the user's patterns find.
func (t *text) user(decided int) int {
	if len(t.r.patterns) == 0 || t.raw || t.uri {
		return decided
	}
	if !t.final {
		decided = min(decided, max(0, len(t.b)-patternReach))
	}
	end := decided
	for _, p := range t.r.patterns {
		for _, m := range p.FindAllSubmatchIndex(t.b, -1) {
			from, to := group(p, m)
			if from = max(from, t.lead); from >= to || from >= end || isMask(t.b[from:to]) || t.masked(from, to) {
				continue
			}
			if to > end { // it is told when all of it is there
				decided = min(decided, from)
				continue
			}
			t.spans = append(t.spans, span{from: from, to: to, rule: "pattern"})
		}
	}
	t.merge(decided)
	return decided
}

// group returns where the secret of a match is.
func group(p *regexp.Regexp, m []int) (from, to int) {
	if p.NumSubexp() > 0 && m[2] >= 0 {
		return m[2], m[3]
	}
	return m[0], m[1]
}

// masked reports whether a stretch has part of a placeholder in it: what stands there
// was redacted before.
func (t *text) masked(from, to int) bool {
	for i := max(0, from-MaskSize); i < to; i++ {
		if t.b[i] == '[' && maskAt(t.b[i:]) > 0 && i+MaskSize > from {
			return true
		}
	}
	return false
}

// merge orders the spans up to a place, and makes one of those that overlap.
func (t *text) merge(decided int) {
	slices.SortStableFunc(t.spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	kept := t.spans[:0]
	for _, s := range t.spans {
		if s.to > decided {
			continue
		}
		if n := len(kept); n > 0 && s.from < kept[n-1].to {
			if s.to > kept[n-1].to {
				kept[n-1].to, kept[n-1].secret = s.to, ""
			}
			continue
		}
		kept = append(kept, s)
	}
	t.spans = kept
}
