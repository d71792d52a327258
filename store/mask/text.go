package mask

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"
)

// keyword is a word that makes a rule look around it.
type keyword struct {
	word   string // case does not matter
	rule   string
	phrase *phrase // nil: the word is part of a name with a value
}

// hash3 ignores the case of letters.
func hash3(a, b, c byte) int { return int(a&31)<<10 | int(b&31)<<5 | int(c&31) }

// scan is a walk through one text. What it has looked up in the text it looks up once, for a text may have the
// words of the rules at every few bytes.
type scan struct {
	*Masker
	data    []byte
	edits   []edit
	open    *block             // a secret that goes on behind the text
	options map[*phrase][]int  // the next match of each option, in indexes; nil: there is none
	closing map[string]stretch // by the mark of quoting: where a value was looked at, and where it ends
	line    stretch            // from a quoted value to the end of its line
	bare    stretch            // a value without quotes
	name    stretch            // the last name
	token   stretch            // bytes without a blank
	key     stretch            // a JSON Web Key
	begin   int                // where the first of the last lines stands that may belong to what follows the text
}

// stretch is a part of a text.
type stretch struct{ from, to int }

// has reports whether a place is known to be in the stretch, or at its end.
func (s stretch) has(at int) bool { return s.from <= at && at <= s.to && s.to > 0 }

// text returns the edits of a text by the built-in rules.
func (m *Masker) text(data []byte) []edit {
	if m.rules.nextWord(data, 0) == len(data) {
		return nil
	}
	s := scan{Masker: m, data: data, begin: len(data)}
	s.look()
	return s.edits
}

// lookAtPlain looks at the text as its reader sees it.
func (s *scan) lookAtPlain() {
	plain := plainOf(s.data)
	if plain == nil {
		return
	}
	seen := scan{Masker: s.Masker, data: plain.data, begin: len(plain.data)}
	seen.look()
	for _, e := range seen.edits {
		s.edits = append(s.edits, plain.written(e))
	}
	if seen.begin < len(plain.data) {
		s.mayGoOn(plain.from[seen.begin])
	}
}

// look looks at every word of the rules.
func (s *scan) look() {
	data := s.data
	for i := s.rules.nextWord(data, 0); i < len(data); i = s.rules.nextWord(data, i+1) {
		for _, k := range s.rules.keywords[hash3(data[i], data[i+1], data[i+2])] {
			if i+len(k.word) > len(data) || !bytes.EqualFold(data[i:i+len(k.word)], []byte(k.word)) {
				continue
			}
			if k.phrase != nil && k.phrase.lines {
				s.mayGoOn(i)
			}
			from, to := 0, 0 // equal: nothing is found
			switch isPart := i > 0 && isAlnum(rune(data[i-1])) && isAlnum(rune(k.word[0])); {
			case k.phrase == nil:
				from, to = s.assigned(i, k.word)
			case k.phrase.back > 0, !isPart, afterEscape(data, i):
				from, to = s.find(k.phrase, i, k.word)
			}
			if found := s.hide(data, from, to, k.rule); found != nil {
				s.edits = append(s.edits, found...)
				i = max(i, to-1)
				break
			}
		}
	}
}

// mayGoOn notes that what stands at a place may go on behind the text. What it means may depend on its line.
func (s *scan) mayGoOn(at int) {
	if low := len(s.data) - lookBack; at >= low && at < s.begin {
		low = max(0, low)
		s.begin = low + 1 + bytes.LastIndexByte(s.data[low:at], '\n')
	}
}

// anyText returns the edits of a text by all rules, also the user's.
func (m *Masker) anyText(data []byte) []edit {
	if isOneLine := bytes.IndexByte(data, '\n') < 0; isOneLine && !m.hasOwn && m.rules.nextWord(data, 0) == len(data) && run(data, 0, asWritten) == len(data) {
		return nil // as for most texts
	}
	s := scan{Masker: m, data: data, begin: len(data)}
	s.lookAll()
	if end := bytes.IndexByte(data, '\n'); end >= 0 && end < len(data)-1 { // not only a heading, if so much
		s.edits = append(s.edits, (&table{}).look(m, data, 0)...)
	}
	return s.edits
}

// lookAll looks for what all rules find, but for tables.
func (s *scan) lookAll() {
	m, data := s.Masker, s.data
	s.look()
	s.lookAtPlain()
	edits := s.edits
	for _, value := range m.values {
		for from := 0; ; {
			at := bytes.Index(data[from:], value)
			if at < 0 {
				break
			}
			from += at + len(value)
			edits = append(edits, m.hide(data, from-len(value), from, "pattern")...)
		}
	}
	for _, p := range m.patterns {
		for _, found := range p.FindAllSubmatchIndex(data, -1) {
			if len(found) > 2 {
				found = found[2:]
			}
			edits = append(edits, m.hide(data, found[0], found[1], "pattern")...)
		}
	}
	if m.keys != nil {
		s.name = stretch{}
		for _, at := range m.keys.FindAllIndex(data, -1) {
			from, to := s.assigned(at[0], string(data[at[0]:at[1]]))
			edits = append(edits, m.hide(data, from, to, "name")...)
		}
	}
	s.edits = edits
}

// hide returns the edit that replaces a stretch; none for an empty stretch or a placeholder.
func (m *Masker) hide(data []byte, from, to int, rule string) []edit {
	if to <= from || placeholder().Match(data[from:min(len(data), to+1)]) {
		return nil
	}
	return []edit{{from: from, to: to, text: m.Placeholder(string(data[from:to])), found: []Finding{{Rule: rule}}}}
}

// phrase is a pattern at or around a word. Its group is the secret.
type phrase struct {
	pattern  func() *regexp.Regexp
	accept   func(t *ruleTable, secret string) bool // nil: any
	back     int                                    // how far before the word the pattern may begin
	digits   int                                    // at least so many stand at the word, in groups
	behind   *shape                                 // what must stand just before the word; may be nil
	lines    bool                                   // it may go on in the next line
	ahead    int                                    // of back: how far behind the word the pattern may go
	look     func(s *scan, at int) (from, to int)   // not nil: instead of a pattern
	shape    *shape                                 // not nil: instead of a pattern, the word and a run of bytes are the secret
	isOption bool                                   // the pattern is that of an option, anywhere behind the word
}

// How much of a text a phrase looks at.
const (
	reach      = 1 << 10
	afterAgain = 64 // behind the next place of the same word
)

// find looks for the phrase around a word. A phrase that begins before the word begins in the
// same run of bytes without a blank.
func (s *scan) find(p *phrase, at int, word string) (from, to int) {
	data := s.data
	switch {
	case p.look != nil:
		return p.look(s, at)
	case p.isOption:
		return s.option(p, at+len(word))
	case p.shape != nil:
		if !bytes.HasPrefix(data[at:], []byte(word)) {
			return 0, 0
		}
		limit := len(data)
		if p.accept != nil {
			limit = longestGenerated
		}
		to = p.shape.end(data, at+len(word), limit)
		if to == 0 || p.accept != nil && !p.accept(s.rules, string(data[at:to])) {
			return 0, 0
		}
		return at, to
	case p.digits > 0 && !hasDigits(data[at:], p.digits):
		return 0, 0
	case p.behind != nil && (at < p.behind.least || run(data[:at], at-p.behind.least, &p.behind.set) < p.behind.least):
		return 0, 0
	}
	begin, most := at, 1
	end := min(len(data), at+reach)
	if p.back > 0 {
		begin = max(0, at-p.back)
		most = -1
		begin += 1 + bytes.LastIndexAny(data[begin:at], " \t\r\n")
		end = min(len(data), at+len(word)+p.ahead)
	} else if again := bytes.Index(data[at+len(word):end], data[at:at+len(word)]); again >= 0 {
		end = min(end, at+2*len(word)+again+afterAgain)
	}
	window := data[begin:end]
	for _, found := range p.pattern().FindAllSubmatchIndex(window, most) {
		for g := 2; g+1 < len(found); g += 2 {
			if found[g] < 0 || begin+found[1] <= at {
				continue
			}
			from, to = begin+found[g], begin+found[g+1]
			if to == end { // of the window, not of the secret
				to += run(data, end, inKey)
			}
			if p.accept == nil || p.accept(s.rules, string(data[from:to])) {
				return from, to
			}
		}
	}
	return 0, 0
}

// option looks for an option of a program in the rest of its command, which ends at a line, a semicolon or a pipe.
func (s *scan) option(p *phrase, at int) (from, to int) {
	next, known := s.options[p]
	if !known || next != nil && next[0] < at {
		if s.options == nil {
			s.options = map[*phrase][]int{}
		}
		next = p.pattern().FindSubmatchIndex(s.data[at:])
		for i := range next {
			next[i] += at
		}
		s.options[p] = next
	}
	if next == nil || next[0] > at+reach {
		return 0, 0
	}
	for i := at; i < next[0]; i++ {
		switch s.data[i] {
		case ';', '|':
			return 0, 0
		case '\n':
			if s.data[i-1] != '\\' && !(s.data[i-1] == '\r' && s.data[i-2] == '\\') {
				return 0, 0
			}
		}
	}
	for g := 2; g+1 < len(next); g += 2 {
		if next[g] >= at && p.accept(s.rules, string(s.data[next[g]:next[g+1]])) {
			return next[g], next[g+1]
		}
	}
	return 0, 0
}

// block looks for a secret of several lines.
func (s *scan) block(at int) (from, to int) {
	data := s.data
	if open, n := beginOfKey(data[at:]); open != nil {
		from, to, ended := open.take(data[at+n:])
		if !ended {
			s.open = open
		}
		switch {
		case from == to && (open.mentioned || !ended || open.behind > keyGap): // nothing of a key
			return 0, 0
		case from == 0: // with its BEGIN
			return at, at + n + to
		}
		return at + n + from, at + n + to
	}
	if bytes.HasPrefix(data[at:], []byte("-----END")) {
		return endOfKey(data, at)
	}
	const kind = "kind: Secret"
	line := 1 + bytes.LastIndexByte(data[max(0, at-endMark):at], '\n') + max(0, at-endMark)
	rest, _, _ := bytes.Cut(data[at:min(len(data), at+endMark)], []byte("\n"))
	if string(bytes.TrimRight(rest, " \r")) != kind || len(bytes.Trim(data[line:at], " -")) > 0 {
		return 0, 0
	}
	m := manifest{data, at - line}
	begin := m.above(line)
	if begin == 0 {
		begin = m.below(at)
	}
	for begin > 0 {
		open := &block{isData: true, indent: m.indent}
		_, n, ended := open.take(data[begin:])
		if !ended {
			s.open = open
		}
		s.edits = append(s.edits, s.hide(data, begin, begin+n, "kubernetes")...)
		if !ended {
			break
		}
		begin = m.below(begin + n - 1)
	}
	return 0, 0
}

// hasDigits reports whether a text begins with so many digits, with blanks and hyphens between them.
func hasDigits(data []byte, want int) bool {
	for _, c := range data {
		switch {
		case c >= '0' && c <= '9':
			if want--; want == 0 {
				return true
			}
		case c != ' ' && c != '-':
			return false
		}
	}
	return false
}

// afterEscape reports whether the letter before i belongs to an escape (\n) or a colour.
func afterEscape(data []byte, i int) bool {
	return i > 1 && strings.IndexByte("nrtbfm", data[i-1]) >= 0 && escape().Match(data[max(0, i-16):i])
}

var escape = lazily(`(?:\\[nrtbf]|(?:\x1b|\\033|\\e|\\u001b)\[[\d;]*m)$`)

// separator matches the bytes between a name and its value: the quote behind the name, blanks,
// a type, an operator.
var separator = lazily(`^(?:\x1b\[[\d;]*m)*((?:\\{0,7}["'` + "`" + `])?(?:%22|\]|\*\*)?)(?:\x1b\[[\d;]*m)*[ \t]{0,40}` +
	`(：|＝|:[ \t]*[A-Za-z&][\w.&*?]{0,30}[ \t]*= |[a-z]{2,12} = |=>|->|={2,3}|:{0,3}=|[.?+|]{1,2}=|:\*\*|:|%3[AaDd]|[,|][ \t]*|>)` +
	`((?:\\[nrt]|\x1b\[[\d;]*m|\*\*|[|>]-?\s|\s){0,16}(?:<!\[CDATA\[)?)`)

// quote matches the beginning of a quoted value.
var quote = lazily(`^[bru]?(\\{0,7}["'` + "`" + `]|%22)`)

// assignment is a name in a text and the way it gets a value.
type assignment struct {
	name  string
	level level
	op    string // "=", ":", ",", " " behind a flag, …
	tight bool   // no blank stands around the operator
	query bool   // it is a parameter of a URL
}

// assigned returns the secret value that the text gives to the name around a word.
func (s *scan) assigned(at int, word string) (from, to int) {
	const longest = 64 // of a name, on both sides of the word
	b := s.data
	start, end := at, at+len(word)
	for low := max(0, at-longest); start > low && inName[b[start-1]] && !afterEscape(b, start); start-- {
	}
	for end > at && !inName[b[end-1]] && b[end-1] < utf8.RuneSelf {
		end--
	}
	end += run(b[:min(len(b), end+longest)], end, inName)
	end = at + len(bytes.TrimRight(b[at:end], ".-"))
	if s.name == (stretch{start, end}) { // it was looked at by another of its words
		return 0, 0
	}
	s.name = stretch{start, end}
	a := assignment{name: string(b[start:end])}
	a.query = start > 0 && strings.IndexByte("?&#", b[start-1]) >= 0
	if found := separator().FindSubmatchIndex(b[end:min(len(b), end+200)]); found != nil {
		from = end + found[1]
		a.op = string(bytes.TrimSpace(b[end+found[4] : end+found[5]]))
		a.tight = found[4] == found[3] && found[6] == found[7]
		if a.op == ">" && (start == 0 || b[start-1] != '<') || a.op == "," && found[3] == found[2] ||
			a.op == "|" && !bytes.Contains(b[max(0, start-4):start], []byte("|")) {
			return 0, 0
		}
	} else if from, a.op = end+1, " "; !strings.HasPrefix(a.name, "--") || end >= len(b) || !inIndent[b[end]] {
		return 0, 0
	} else {
		from += run(b, from, inIndent)
	}
	if from >= len(b) {
		s.mayGoOn(start)
		return 0, 0
	}
	if !a.judge(s.Masker, b, start) {
		return 0, 0
	}
	q := quote().FindSubmatchIndex(b[from:min(len(b), from+16)])
	isCookie := strings.HasSuffix(strings.ToLower(a.name), "cookie")
	switch {
	case q != nil:
		mark := string(b[from+q[2] : from+q[3]])
		from += q[1]
		to = s.closed(from, mark)
	case a.op == ",":
		return 0, 0
	case a.op == ">":
		to = from + max(0, bytes.IndexAny(b[from:min(len(b), from+reach)], "<]"))
		to = from + len(bytes.TrimRight(b[from:to], " \t\r\n"))
	case isCookie: // all of the line
		to = from + len(bytes.SplitN(b[from:min(len(b), from+reach)], []byte("\n"), 2)[0])
	default:
		to = s.bareEnd(from)
		if to < len(b) && inIndent[b[to]] && to-from < 20 && s.rules.words["scheme"][strings.ToLower(string(b[from:to]))] { // Authorization: Bearer …
			from = to + run(b, to, inIndent)
			to = s.bareEnd(from)
		}
	}
	if to == len(b) {
		s.mayGoOn(start)
	}
	v := b[from:to]
	if q != nil && to == s.line.to && len(v) < 4 && !bytes.ContainsFunc(v, isAlnum) { // input("Password: ")
		return 0, 0
	}
	begin, stop, ok := a.level.hides(s.rules, v)
	lineEnds := to == len(b) || strings.IndexByte("\n\r\\&", b[to]) >= 0
	if !ok || q == nil && !(isCookie && bytes.IndexByte(v, '=') > 0) && !a.accepts(s.Masker, v, lineEnds) {
		return 0, 0
	}
	return from + begin, from + stop
}

// closed returns where a quoted value ends: at its mark, or at the end of the line.
func (s *scan) closed(from int, mark string) int {
	if !s.line.has(from) {
		s.closing = map[string]stretch{}
		s.line = stretch{from, len(s.data)}
		if n := bytes.IndexByte(s.data[from:], '\n'); n >= 0 {
			s.line.to = from + n
		}
	}
	if known := s.closing[mark]; known.has(from) {
		return known.to
	}
	to := from
	for {
		n := bytes.Index(s.data[to:s.line.to], []byte(mark))
		if n < 0 {
			to = s.line.to
			break
		}
		if to += n; len(mark) > 1 || to == from || s.data[to-1] != '\\' {
			break
		}
		to++
	}
	s.closing[mark] = stretch{from, to}
	return to
}

// bareEnd returns where a value without quotes ends.
func (s *scan) bareEnd(from int) int {
	if !s.bare.has(from) {
		s.bare = stretch{from, from + run(s.data, from, inBare)}
	}
	return s.bare.to
}

// judge sets the level of the name, also from the text before it.
func (a *assignment) judge(masker *Masker, b []byte, start int) bool {
	a.level = masker.rules.levelOf(a.name)
	lower := strings.ToLower(a.name)
	switch {
	case masker.isUsersKey(a.name):
		a.level = everything
	case (lower == "pass" || lower == "pw") && masker.rules.patterns["user-before"]().Match(b[max(0, start-120):start]):
		a.level = password
	case lower == "code" && bytes.Contains(b[max(0, start-reach):min(len(b), start+reach)], []byte("grant_type")): // of OAuth
		a.level = credential
	case a.query && a.level == credential: // a plain word, too
		a.level = password
	case a.query && lower == "code", a.op == "=" && strings.HasSuffix(lower, "signature"):
		a.level = max(a.level, ifKey)
	case a.query && (lower == "key" || strings.HasSuffix(lower, "sig")):
		a.level = max(a.level, ifString)
	}
	return a.level > harmless
}

// accepts reports whether a value without quotes is a secret, not a word of prose or code.
func (a *assignment) accepts(masker *Masker, v []byte, lineEnds bool) bool {
	v = v[:min(len(v), longestJudged)]
	lower, upper, digits := makeup(v)
	letters := lower + upper
	word := strings.ToLower(string(v))
	switch {
	case a.level == everything, a.level < ifString, a.query && !isWord(v): // hides has judged it
		return true
	case bytes.IndexByte(v, '.') > 0 && digits == 0, v[0] == '!' && letters == len(v)-1: // a variable of a program, a tag of YAML
		return false
	case letters == len(v) && (masker.rules.words["prose"][word] || masker.rules.patterns["program"]().MatchString(word)):
		return false
	case a.op == "=" && a.tight && a.level == password, a.op == ">":
		return len(v) >= 3
	case a.op == "=" && a.tight:
		return len(v) >= 6
	case len(v) >= 5 && (isTossed(v) || letters > 0 && digits >= 2):
		return true
	case a.level == password || a.op == " ":
		name := strings.ToLower(a.name)
		isNamed := lineEnds && a.op != " " && (strings.Contains(name, "passw") || masker.rules.words["foreign"][name])
		return len(v) >= 5 && (isNamed || letters < len(v) && !isWord(v) && (letters > 0 || digits >= 6))
	}
	return false
}
