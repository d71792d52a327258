package workload

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
)

// mostOfPattern is how long a text for a pattern may get.
const mostOfPattern = 4096

// textFor returns a short text with at least so many characters that a pattern matches, and false if none was found.
// Repetitions are made as short as they may be, and longer only to reach that length.
func textFor(pattern string, least int) (text string, isFound bool) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return "", false
	}
	for extra := 0; extra <= least && extra <= mostOfPattern; extra++ {
		var b strings.Builder
		if !writeMatch(&b, tree, extra) {
			return "", false
		}
		for b.Len() < least && !strings.HasSuffix(pattern, "$") { // what follows a pattern without an end is free
			b.WriteByte('a')
		}
		if text = b.String(); len([]rune(text)) >= least && expression.MatchString(text) {
			return text, true
		}
	}
	return "", false
}

// writeMatch writes a text that a part of a pattern matches, with extra rounds of what may repeat.
func writeMatch(b *strings.Builder, part *syntax.Regexp, extra int) bool {
	if b.Len() > mostOfPattern {
		return false
	}
	repeat := func(count int) bool {
		for range count {
			if !writeMatch(b, part.Sub[0], extra) {
				return false
			}
		}
		return true
	}
	switch part.Op {
	case syntax.OpLiteral:
		b.WriteString(string(part.Rune))
	case syntax.OpCharClass:
		r, isFound := plainest(part.Rune)
		b.WriteRune(r)
		return isFound
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpCapture:
		return writeMatch(b, part.Sub[0], extra)
	case syntax.OpConcat:
		for _, sub := range part.Sub {
			if !writeMatch(b, sub, extra) {
				return false
			}
		}
	case syntax.OpAlternate:
		return writeMatch(b, part.Sub[0], extra)
	case syntax.OpStar:
		return repeat(extra)
	case syntax.OpPlus:
		return repeat(1 + extra)
	case syntax.OpQuest:
		return repeat(min(1, extra))
	case syntax.OpRepeat:
		count := part.Min + extra
		if part.Max >= 0 {
			count = min(count, part.Max)
		}
		return repeat(count)
	case syntax.OpNoMatch:
		return false
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
	}
	return true
}

// plainest returns a character of a class: a letter or a digit if it has one, else the first that can be read.
func plainest(ranges []rune) (r rune, isFound bool) {
	isIn := func(r rune) bool {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= r && r <= ranges[i+1] {
				return true
			}
		}
		return false
	}
	for _, r := range "a1A0-_. " {
		if isIn(r) {
			return r, true
		}
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1] && r < ranges[i]+256; r++ {
			if unicode.IsPrint(r) {
				return r, true
			}
		}
	}
	return 0, false
}
