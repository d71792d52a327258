package mask

import (
	"bytes"
	"regexp"
	"strings"
)

// keyword is a word that makes a rule look around it.
type keyword struct {
	word   string // case does not matter
	rule   string
	phrase *phrase // nil: the word is part of a name with a value
}

const reach = 1 << 10 // how much of a text a phrase looks at, unless it is long

// hash3 ignores the case of letters.
func hash3(a, b, c byte) int { return int(a&31)<<10 | int(b&31)<<5 | int(c&31) }

// text returns the edits of a text by the built-in rules.
func (m *Masker) text(data []byte) (edits []edit) {
	for i := 0; i+3 <= len(data); i++ {
		hash := hash3(data[i], data[i+1], data[i+2])
		if !m.rules.begins(hash) {
			continue
		}
		for _, k := range m.rules.keywords[hash] {
			if i+len(k.word) > len(data) || !bytes.EqualFold(data[i:i+len(k.word)], []byte(k.word)) {
				continue
			}
			from, to := 0, 0 // equal: nothing is found
			switch isPart := i > 0 && isAlnum(rune(data[i-1])) && isAlnum(rune(k.word[0])); {
			case k.phrase == nil:
				from, to = m.assigned(data, i, k.word)
			case k.phrase.back > 0, !isPart, afterEscape(data, i):
				from, to = k.phrase.find(m.rules, data, i)
			}
			if found := m.hide(data, from, to, k.rule); found != nil {
				edits = append(edits, found...)
				i = max(i, to-1)
				break
			}
		}
	}
	return edits
}

// anyText returns the edits of a text by all rules, also the user's.
func (m *Masker) anyText(data []byte) []edit {
	edits := append(m.text(data), m.table(data)...)
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
		for _, at := range m.keys.FindAllIndex(data, -1) {
			from, to := m.assigned(data, at[0], string(data[at[0]:at[1]]))
			edits = append(edits, m.hide(data, from, to, "name")...)
		}
	}
	return edits
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
	pattern func() *regexp.Regexp
	accept  func(t *ruleTable, secret string) bool // nil: any
	back    int                                    // how far before the word the pattern may begin
	long    bool                                   // it may go on to the end of the text
	digits  int                                    // at least so many stand at the word, in groups
}

// find looks for the phrase around a word. A phrase that begins before the word begins in the
// same run of bytes without a blank.
func (p *phrase) find(t *ruleTable, data []byte, at int) (from, to int) {
	if p.digits > 0 && !hasDigits(data[at:], p.digits) {
		return 0, 0
	}
	begin, most := at, 1
	if p.back > 0 {
		begin = max(0, at-p.back)
		most = -1
		begin += 1 + bytes.LastIndexAny(data[begin:at], " \t\r\n")
	}
	window := data[begin:]
	if !p.long {
		window = window[:min(len(window), reach)]
	}
	for _, found := range p.pattern().FindAllSubmatchIndex(window, most) {
		for g := 2; g+1 < len(found); g += 2 {
			if found[g] >= 0 && begin+found[1] > at && (p.accept == nil || p.accept(t, string(window[found[g]:found[g+1]]))) {
				return begin + found[g], begin + found[g+1]
			}
		}
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
	`(:[ \t]*[A-Za-z&][\w.&*?]{0,30}[ \t]*= |[a-z]{2,12} = |=>|->|={2,3}|:{0,3}=|[.?+|]{1,2}=|:\*\*|:|%3[AaDd]|[,|][ \t]*|>)` +
	`((?:\\[nrt]|\x1b\[[\d;]*m|\*\*|[|>]-?\s|\s){0,16}(?:<!\[CDATA\[)?)`)

// quote matches the beginning of a quoted value.
var quote = lazily(`^[bru]?(\\{0,7}["'` + "`" + `]|%22)`)

// bare matches a value without quotes.
var bare = lazily("^[^\\x00- \"'`,;&<>(){}\\[\\]\\\\|]*")

// assignment is a name in a text and the way it gets a value.
type assignment struct {
	name  string
	level level
	op    string // "=", ":", ",", " " behind a flag, …
	tight bool   // no blank stands around the operator
	query bool   // it is a parameter of a URL
}

// assigned returns the secret value that a text gives to the name around a word.
func (m *Masker) assigned(b []byte, at int, word string) (from, to int) {
	const longest = 64 // of a name, on both sides of the word
	start, end := at, at+len(word)
	for low := max(0, at-longest); start > low && inName[b[start-1]] && !afterEscape(b, start); start-- {
	}
	for end > at && !inName[b[end-1]] {
		end--
	}
	end += run(b[:min(len(b), end+longest)], end, inName)
	end = at + len(bytes.TrimRight(b[at:end], ".-"))
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
	} else if from, a.op = end+1, " "; !strings.HasPrefix(a.name, "--") || end >= len(b) || b[end] != ' ' {
		return 0, 0
	}
	if from >= len(b) || !a.judge(m, b, start) {
		return 0, 0
	}
	q := quote().FindSubmatchIndex(b[from:min(len(b), from+16)])
	isCookie := strings.HasSuffix(strings.ToLower(a.name), "cookie")
	switch {
	case q != nil:
		mark := b[from+q[2] : from+q[3]]
		from += q[1]
		isEscaped := func() bool { return len(mark) == 1 && to > from && b[to-1] == '\\' }
		for to = from; to < len(b) && b[to] != '\n' && (!bytes.HasPrefix(b[to:], mark) || isEscaped()); to++ {
		}
	case a.op == ",":
		return 0, 0
	case a.op == ">":
		to = from + max(0, bytes.IndexAny(b[from:min(len(b), from+reach)], "<]"))
		to = from + len(bytes.TrimRight(b[from:to], " \t\r\n"))
	case isCookie: // all of the line
		to = from + len(bytes.SplitN(b[from:min(len(b), from+reach)], []byte("\n"), 2)[0])
	default:
		to = from + len(bare().Find(b[from:]))
		scheme := strings.ToLower(string(b[from:to]))
		if to < len(b) && b[to] == ' ' && m.rules.words["scheme"][scheme] { // Authorization: Bearer …
			from = to + 1
			to = from + len(bare().Find(b[from:]))
		}
	}
	v := b[from:to]
	begin, stop, ok := a.level.hides(m.rules, v)
	lineEnds := to == len(b) || strings.IndexByte("\n\r\\&", b[to]) >= 0
	if !ok || q == nil && !(isCookie && bytes.IndexByte(v, '=') > 0) && !a.accepts(m, v, lineEnds) {
		return 0, 0
	}
	return from + begin, from + stop
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
		isNamed := lineEnds && a.op != " " && strings.Contains(strings.ToLower(a.name), "passw")
		return len(v) >= 5 && (isNamed || letters < len(v) && !isWord(v) && (letters > 0 || digits >= 6))
	}
	return false
}

// table returns the edits of the secret columns of tables: CSV, tabs and Markdown.
func (m *Masker) table(data []byte) (edits []edit) {
	if end := bytes.IndexByte(data, '\n'); end < 0 || end == len(data)-1 { // only a heading, if so much
		return nil
	}
	columns := map[int]level(nil)
	cut := byte(0)
	at := 0
	for line := range bytes.Lines(data) {
		if len(columns) == 0 || bytes.IndexByte(line, cut) < 0 { // it may be a heading
			columns = map[int]level{}
			i := bytes.IndexAny(line, "|\t,;")
			at += len(line)
			if i < 0 || len(line) > reach || line[len(line)-1] != '\n' || bytes.ContainsAny(line, ":=(){}.0123456789") {
				continue
			}
			cut = line[i]
			for k, cell := range bytes.Split(line, line[i:i+1]) {
				name := strings.Trim(string(cell), " \r\n\"'`")
				if l := m.rules.levelOf(name); l >= credential && strings.Count(name, " ") < 2 {
					columns[k] = l
				}
			}
			continue
		}
		for k, cell := range bytes.SplitAfter(line, []byte{cut}) {
			v := bytes.Trim(cell, " \r\n\"'`-:"+string(cut))
			if _, _, ok := columns[k].hides(m.rules, v); ok {
				from := at + bytes.Index(cell, v)
				edits = append(edits, m.hide(data, from, from+len(v), "column")...)
			}
			at += len(cell)
		}
	}
	return edits
}
