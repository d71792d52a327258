package mask

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed rules.txt
var rulesText string

// ruleTable is what rules.txt says.
type ruleTable struct {
	levels   map[string]level           // by the last words of a name
	words    map[string]map[string]bool // sets of words, by what they are
	keywords [1 << 15][]keyword         // by hash3: what is looked for in a text
	fields   map[string]map[string]zone // by their JSON pointers, of messages and of other payloads
}

// readRules returns the table. It is read when it is first needed.
var readRules = sync.OnceValue(func() *ruleTable {
	t := &ruleTable{levels: map[string]level{}, words: map[string]map[string]bool{}, fields: map[string]map[string]zone{"message": {}, "opened": {}, "http": {}}}
	text := strings.ReplaceAll(rulesText, "\n    ", " ")
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			t.add(line)
		}
	}
	for _, kind := range []string{"in-text", "vendor"} {
		for _, word := range slices.Sorted(maps.Keys(t.words[kind])) {
			t.keyword("name", word, nil)
		}
	}
	return t
})

// add adds one rule.
func (t *ruleTable) add(line string) {
	head, rest, _ := strings.Cut(line, " : ")
	args, list := strings.Fields(head), strings.Fields(rest)
	switch args[0] {
	case "name":
		for _, name := range list {
			t.levels[name] = map[string]level{"password": password, "credential": credential, "random": ifRandom, "digits": ifDigits}[args[1]]
		}
	case "words":
		t.words[args[1]] = map[string]bool{}
		for _, word := range list {
			t.words[args[1]][word] = true
		}
	case "shape": // a phrase of a prefix and bytes of a class
		accept := map[bool]string{false: "any", true: "generated"}[len(args) > 5]
		for _, prefix := range list {
			pattern := "^(" + regexp.QuoteMeta(prefix) + classes[args[2]] + "{" + args[3] + "," + strings.Trim(args[4], "-") + `})\b`
			p := &phrase{pattern: lazily(pattern), accept: accepting[accept], long: accept == "any"}
			t.keyword(args[1], prefix, p)
		}
	case "option": // a phrase around an option
		option, user, _ := strings.Cut(rest, " : ")
		pattern := strings.ReplaceAll(`\w+(?:-cli)?(?:\\\n|[^\n;|])*? (?:`+option+`)(?:'USER([^'\n]+)'|"USER([^"\n]+)"|USER'([^'\n]+)'|USER"([^"\n]+)"|USER([^\s"';|\\]+))`, "USER", user)
		rest = strings.Join(args[1:], " ") + " : " + strings.ReplaceAll(pattern, "␣", " ")
		args = []string{"phrase", "command"}
		fallthrough
	case "phrase":
		p := &phrase{accept: accepting["no-template"]}
		for _, option := range args[2:] {
			switch name, value, _ := strings.Cut(option, "="); name {
			case "back":
				p.back, _ = strconv.Atoi(value) // the table is our own
			case "accept":
				p.accept = accepting[value]
			}
		}
		words, pattern, _ := strings.Cut(rest, " : ")
		if p.back == 0 {
			pattern = `^(?:` + pattern + `)`
		}
		p.pattern, p.long = lazily(pattern), strings.Contains(pattern, "(?s:") || args[1] == "kubernetes"
		for _, word := range strings.Fields(words) {
			t.keyword(args[1], strings.ReplaceAll(word, "␣", " "), p)
		}
	case "field":
		for _, pointer := range list {
			t.fields[args[1]][pointer] = map[string]zone{"immune": immuneZone, "nameless": namelessZone}[args[2]]
		}
	default:
		panic("mask: rules.txt: " + line)
	}
}

func (t *ruleTable) keyword(rule, word string, p *phrase) {
	h := hash3(word[0], word[1], word[2])
	t.keywords[h] = append(t.keywords[h], keyword{word, rule, p})
}

// accepting are the functions that rules.txt names.
var accepting = map[string]func(secret string) bool{
	"any":         func(string) bool { return true },
	"no-template": func(s string) bool { return !template().MatchString(s) },
	"generated":   func(s string) bool { return looksGenerated([]byte(s), 10) },
	"basic": func(s string) bool { // a name, a colon and a password
		b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
		return err == nil && len(b) >= 3 && strings.Contains(string(b), ":") && strings.IndexFunc(string(b), func(r rune) bool { return r < ' ' }) < 0
	},
}

const (
	alnum     = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	nameBytes = alnum + "_.-"
	keyBytes  = alnum + "_.~+/=%|:-"
	hexDigits = "0123456789abcdefABCDEF"
)

func isAlnum(r rune) bool { return strings.ContainsRune(alnum, r) }

// run returns how many bytes of b, from i on, are of a set.
func run(b []byte, i int, set string) int { return len(b) - i - len(bytes.TrimLeft(b[i:], set)) }

// classes are the bytes that a shape may have.
var classes = map[string]string{
	"alnum": "[a-zA-Z0-9]", "hex": "[a-fA-F0-9]", "word": `[\w-]`, "dotted": `[\w.-]`, "capitals": "[A-Z0-9]", "smalls": "[a-z0-9]",
	"unreserved": `[\w.~-]`, "token": `[\w.~+/=-]`, "percent": `[\w.~+/=%-]`, "dollar": `[\w.~+/=$-]`,
}

// lazily returns a regular expression that is compiled when it is first used: a package's
// variables are initialised in every command, whether it masks or not.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
