package mask

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
)

//go:embed rules.txt
var rulesText string

// ruleTable is the parsed rules.txt.
type ruleTable struct {
	levels   map[string]level           // by the last words of a name
	words    map[string]map[string]bool // sets of words, by their names
	patterns map[string]func() *regexp.Regexp
	keywords [1 << 15][]keyword   // by hash3: words to find in a text
	hashes   [1 << 15 / 64]uint64 // a bit for each hash3 that has keywords
	fields   map[string]*field    // by the kind of payload

	names [1024]atomic.Pointer[name] // by a hash: see nameOf
}

// readRules returns the table. The first call parses it.
var readRules = sync.OnceValue(func() *ruleTable {
	t := &ruleTable{levels: map[string]level{}, words: map[string]map[string]bool{}, patterns: map[string]func() *regexp.Regexp{}}
	t.fields = map[string]*field{"message": {}, "opened": {}, "http": {}}
	for line := range strings.Lines(strings.ReplaceAll(rulesText, "\n    ", " ")) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' {
			t.add(line)
		}
	}
	return t
})

// add adds one rule.
func (t *ruleTable) add(line string) {
	head, rest, _ := strings.Cut(line, " : ")
	args := strings.Fields(head)
	list := strings.Fields(rest)
	switch args[0] {
	case "name":
		levels := map[string]level{"password": password, "credential": credential, "random": ifRandom, "digits": ifDigits}
		for _, name := range list {
			t.levels[name] = levels[args[1]]
		}
	case "pattern":
		t.patterns[args[1]] = lazily(rest)
	case "words":
		t.words[args[1]] = map[string]bool{}
		for _, word := range list {
			t.words[args[1]][word] = true
			switch args[1] {
			case "in-text", "vendor":
				t.keyword("name", word, nil)
			case "foreign":
				plain := strings.ReplaceAll(word, "␣", "")
				t.words[args[1]][plain] = true
				t.levels[plain] = password
				t.keyword("name", word, nil)
			}
		}
	case "shape": // a phrase of a prefix and the bytes behind it
		accept := accepting[strings.Join(args[3:], "")]
		for _, prefix := range list {
			t.keyword(args[1], prefix, &phrase{shape: shapeOf(args[2]), accept: accept})
		}
	case "option": // behind a program
		option, user, _ := strings.Cut(rest, " : ")
		pattern := `[ \t](?:OPTION)(?:'USER([^'\n]+)'|"USER([^"\n]+)"|USER'([^'\n]+)'|USER"([^"\n]+)"|USER([^\s"';|\\]+))`
		pattern = strings.ReplaceAll(strings.NewReplacer("OPTION", option, "USER", user).Replace(pattern), "␣", `[ \t]+`)
		p := &phrase{pattern: lazily(withTabs(pattern)), accept: accepting["no-template"], isOption: true}
		for _, program := range args[1:] {
			t.keyword("command", program, p)
		}
	case "look": // a phrase that a function knows
		looks := map[string]func(s *scan, at int) (from, to int){"block": (*scan).block, "login": (*scan).login, "pgpass": (*scan).pgpass, "data-source": (*scan).dataSource,
			"multipart": (*scan).multipart, "jwk": (*scan).jwk, "beside-id": (*scan).besideID}
		for _, word := range list {
			t.keyword(args[1], word, &phrase{look: looks[args[2]], lines: len(args) > 3})
		}
	case "phrase":
		p := &phrase{accept: accepting["no-template"]}
		for _, option := range args[2:] {
			switch name, value, _ := strings.Cut(option, "="); name {
			case "back":
				p.back, _ = strconv.Atoi(value) // the table is part of the program
			case "accept":
				p.accept = accepting[value]
			case "digits":
				p.digits, _ = strconv.Atoi(value)
			case "lines":
				p.lines = true
			case "ahead":
				p.ahead, _ = strconv.Atoi(value)
			case "behind":
				p.behind = shapeOf(value)
			}
		}
		words, pattern, _ := strings.Cut(rest, " : ")
		if p.back == 0 {
			pattern = `^(?:` + pattern + `)`
		}
		p.pattern = lazily(withTabs(pattern))
		for _, word := range strings.Fields(words) {
			t.keyword(args[1], word, p)
		}
	case "field":
		for _, pointer := range list {
			t.fields[args[1]].add(pointer).zone = map[string]zone{"immune": immuneZone, "nameless": namelessZone}[args[2]]
		}
	default:
		panic("mask: rules.txt: " + line)
	}
}

// withTabs returns a pattern whose blanks are blanks or tabs, but for those in a set of bytes.
func withTabs(pattern string) string {
	var b strings.Builder
	inSet := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			b.WriteByte(c)
			i++
			b.WriteByte(pattern[i])
			continue
		case c == ' ' && !inSet && i+1 < len(pattern) && strings.IndexByte("?*+", pattern[i+1]) >= 0:
			b.WriteString(`[ \t]`)
			continue
		case c == ' ' && !inSet:
			b.WriteString(`[ \t]+`)
			continue
		case c == '[':
			inSet = true
		case c == ']':
			inSet = false
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}

// keyword registers a word, in which a blank ('␣') may be a tab. A word of fewer than three bytes stands under all hashes that
// begin with it.
func (t *ruleTable) keyword(rule, word string, phrase *phrase) {
	if strings.Contains(word, "␣") {
		t.keyword(rule, strings.ReplaceAll(word, "␣", "\t"), phrase)
		word = strings.ReplaceAll(word, "␣", " ")
	}
	padded := word + "\x00\x00"
	first := hash3(padded[0], padded[1], padded[2])
	for h := first; h < first+1<<(5*max(0, 3-len(word))); h++ {
		t.keywords[h] = append(t.keywords[h], keyword{word, rule, phrase})
		t.hashes[h/64] |= 1 << (h % 64)
	}
}

// shapeOf parses a set of bytes and how many of them there are, in the way of a regular expression: [\w-]{20,}.
func shapeOf(text string) *shape {
	set, count, _ := strings.Cut(strings.TrimPrefix(text, "["), "]")
	var s shape
	for i := 0; i < len(set); i++ {
		switch {
		case strings.HasPrefix(set[i:], `\w`):
			s.add(alnum + "_")
			i++
		case i+2 < len(set) && set[i+1] == '-':
			for c := int(set[i]); c <= int(set[i+2]); c++ {
				s.set[c] = true
			}
			i += 2
		default:
			s.set[set[i]] = true
		}
	}
	least, most, isRange := strings.Cut(strings.Trim(count, "{}"), ",")
	s.least, _ = strconv.Atoi(least) // the table is part of the program
	if s.most, _ = strconv.Atoi(most); !isRange {
		s.most = s.least
	}
	return &s
}

// shape is a run of some bytes.
type shape struct {
	set         byteSet
	least, most int // how many; most may be 0 for any number
}

func (s *shape) add(bytes string) {
	for i := range len(bytes) {
		s.set[bytes[i]] = true
	}
}

// end returns the end of the run that begins at a place of a text, where it ends as a word does; or 0.
func (s *shape) end(text []byte, at, limit int) int {
	if s.most > 0 {
		limit = s.most
	}
	isWord := func(i int) bool { return i < len(text) && (inAlnum[text[i]] || text[i] == '_') }
	for n := run(text[:min(len(text), at+limit)], at, &s.set); n >= s.least; n-- {
		if isWord(at+n-1) != isWord(at+n) {
			return at + n
		}
	}
	return 0
}

// begins reports whether words have this hash3. It looks at 4 KiB, which stay in the processor's first
// cache, where the table of the words does not.
func (t *ruleTable) begins(hash int) bool { return t.hashes[hash/64]&(1<<(hash%64)) != 0 }

// nextWord returns where the next word of the rules may begin, from a place on; the length of the text if nowhere.
func (t *ruleTable) nextWord(data []byte, i int) int {
	for ; i+3 <= len(data); i++ {
		if t.begins(hash3(data[i], data[i+1], data[i+2])) {
			return i
		}
	}
	return len(data)
}

// field is a place in a payload that the table knows, or that has such places below.
type field struct {
	zone    zone
	members map[string]*field // by their names; "*" is any element of a list
}

// add returns the field at a JSON pointer below f.
func (f *field) add(pointer string) *field {
	for _, step := range strings.Split(pointer, "/")[1:] {
		if f.members[step] == nil {
			if f.members == nil {
				f.members = map[string]*field{}
			}
			f.members[step] = &field{}
		}
		f = f.members[step]
	}
	return f
}

// unknown is where the table knows no field.
var unknown = &field{}

// below returns the field of a member, or of the elements for "*".
func (f *field) below(step string) *field {
	if f.members == nil {
		return unknown
	}
	if member := f.members[step]; member != nil {
		return member
	}
	return unknown
}

// accepting are the functions that rules.txt names with accept=.
var accepting = map[string]func(t *ruleTable, secret string) bool{
	"no-template": func(table *ruleTable, s string) bool { return !table.patterns["template"]().MatchString(s) },
	"no-prose": func(table *ruleTable, s string) bool {
		return !table.words["prose"][strings.ToLower(s)] && !table.patterns["template"]().MatchString(s)
	},
	"generated": func(_ *ruleTable, s string) bool { return looksGenerated([]byte(s), 10) },
	"mixed": func(_ *ruleTable, s string) bool { // letters and digits
		lower, upper, digits := makeup([]byte(s))
		return lower+upper > 0 && digits > 0
	},
	"luhn": func(_ *ruleTable, s string) bool { // the check digit of payment cards
		sum, double := 0, false
		for _, c := range slices.Backward([]byte(s)) {
			if c < '0' { // between groups
				continue
			}
			n := int(c - '0')
			if double {
				n = n*2/10 + n*2%10
			}
			sum, double = sum+n, !double
		}
		return sum%10 == 0
	},
	"basic": func(_ *ruleTable, s string) bool { // a name, a colon and a password
		b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
		return err == nil && len(b) >= 3 && bytes.IndexByte(b, ':') >= 0 && bytes.IndexFunc(b, unicode.IsControl) < 0
	},
}

const alnum = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// byteSet is a set of bytes.
type byteSet [256]bool

func setOf(bytes string) *byteSet {
	var set byteSet
	for i := range len(bytes) {
		set[bytes[i]] = true
	}
	return &set
}

// notOf returns the set of all bytes but these and the control characters.
func notOf(bytes string) *byteSet {
	set := setOf(bytes)
	for c := range set {
		set[c] = !set[c] && c >= ' '
	}
	return set
}

var (
	inAlnum    = setOf(alnum)
	inPassword = notOf(" \"'`<>/:@|\\,;(){}[]") // of user:password@host
	inNumber   = setOf(alnum + "+.-")           // of JSON, or in one of its words
	inBare     = notOf(" \"'`,;&<>(){}[]\\|")   // of a value without quotes
	inName     = setOf(alnum + "_.-")
	inKey      = setOf(alnum + "_.~+/=%|:-")
	inHex      = setOf("0123456789abcdefABCDEF")
	inDigits   = setOf("0123456789")
	inBase64   = setOf(alnum + "+/=")
	inArmor    = setOf(alnum + " +%_") // of the mark of a private key

	inBlanks      = setOf(" \t\r\n")
	inIndent      = setOf(" \t")
	betweenTokens = setOf(" \t\r\n,:")
)

func isLetter(c byte) bool { return c|32 >= 'a' && c|32 <= 'z' }

func isAlnum(r rune) bool { return r < 0x80 && inAlnum[r] }

// run returns how many bytes of data from i on belong to a set.
func run(data []byte, i int, set *byteSet) int {
	n := i
	for n < len(data) && set[data[n]] {
		n++
	}
	return n - i
}

// lazily returns a regular expression that its first use compiles: every command initialises a
// package's variables, whether it masks or not.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
