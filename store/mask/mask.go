package mask

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

// Rules are a user's additions to the built-in rules. The zero value adds nothing.
type Rules struct {
	// Keys are names of members, arguments and variables with secret values of any kind. Case,
	// '-' and '_' do not matter; '*' stands for any text.
	Keys []string
	// Patterns find secrets in text. If a pattern has a group, the group is the secret.
	Patterns []*regexp.Regexp
	// Pointers are JSON pointers into messages; '*' stands for any member.
	Pointers []string
	// Values are secrets.
	Values []string
}

// Finding is a secret that was replaced. It does not hold the secret.
type Finding struct {
	Rule string // the rule that found it
	Path string // the JSON pointer of its string or number; "" in text
}

// Masker masks events by its rules. It is safe for concurrent use.
type Masker struct {
	rules    *ruleTable
	key      []byte
	keys     *regexp.Regexp // of the user; may be nil
	patterns []*regexp.Regexp
	pointers *regexp.Regexp
	values   [][]byte // secrets by themselves
	hasOwn   bool     // it has keys, patterns or values
	report   func(Finding)
	found    *[]string // not nil: Placeholder adds every secret
	isOf     bool      // it knows the secrets of a session's header
}

// New returns a Masker whose placeholders depend on the key.
func New(key []byte, extra Rules) (*Masker, error) {
	m := &Masker{rules: readRules(), key: key, patterns: slices.Clone(extra.Patterns)}
	var pointers, names []string
	for _, p := range extra.Pointers {
		if p == "" || p[0] != '/' {
			return nil, fmt.Errorf("mask pointer %q: it must begin with /, such as /params/arguments/pin", p)
		}
		anyPart := regexp.MustCompile(`/(?:\\\*|\d+)`) // a member's name that is *, or an index
		pointers = append(pointers, anyPart.ReplaceAllString(regexp.QuoteMeta(p), `/[^/]*`))
	}
	if pointers != nil {
		m.pointers = regexp.MustCompile(`^(?:` + strings.Join(pointers, "|") + `)$`)
	}
	for _, k := range extra.Keys {
		if strings.Trim(k, "*-_. ") == "" || strings.ContainsAny(k, `?[\/`) {
			return nil, fmt.Errorf("mask key %q: it must be a name, in which * may stand for anything", k)
		}
		name := ""
		for _, letter := range k {
			switch {
			case letter == '*':
				name += `[\w.-]*`
			case !strings.ContainsRune("-_. ", letter):
				name += regexp.QuoteMeta(string(letter)) + `[-_. ]?`
			}
		}
		names = append(names, name)
	}
	if names != nil {
		m.keys = regexp.MustCompile(`(?i)` + strings.Join(names, "|"))
		m.keys.Longest()
	}
	m.addValues(extra.Values)
	return m, nil
}

func (m *Masker) addValues(values []string) {
	for _, v := range values {
		if len(v) >= 4 {
			m.values = append(m.values, []byte(v))
		}
	}
	m.hasOwn = m.keys != nil || len(m.patterns) > 0 || len(m.values) > 0
}

// isUsersKey reports whether the user's Keys contain a name.
func (m *Masker) isUsersKey(name string) bool {
	return m.keys != nil && len(m.keys.FindString(name)) == len(name)
}

// Overrules reports whether the user's rules may hide what is never a secret else, such as a method or an id.
func (m *Masker) Overrules() bool { return m.keys != nil || m.pointers != nil }

// Reporting returns a Masker of the same rules that calls fn for every secret.
func (m *Masker) Reporting(fn func(Finding)) *Masker {
	other := *m
	other.report = fn
	return &other
}

// Frame returns a frame without its secrets, and the number of secrets; data itself if there is no
// secret.
func (m *Masker) Frame(data []byte) ([]byte, int) { return m.masked(data, m.rules.fields["message"]) }

// masked masks JSON with known fields, or a text.
func (m *Masker) masked(data []byte, fields *field) ([]byte, int) {
	if !transport.Valid(data) {
		return m.Text(data)
	}
	var path [128]byte // room enough for most messages
	var members [16]member
	w := walker{m: m, raw: data, field: fields, path: path[:0], members: members[:0]}
	w.walk(place{})
	return m.finish(data, w.edits)
}

// Text returns a text without its secrets, and the number of secrets.
func (m *Masker) Text(data []byte) ([]byte, int) { return m.finish(data, m.anyText(data)) }

// edit replaces a stretch of bytes.
type edit struct {
	from, to int
	text     string    // the replacement
	found    []Finding // the secrets in it
}

// finish applies edits, and counts and reports their secrets.
func (m *Masker) finish(data []byte, edits []edit) ([]byte, int) {
	if len(edits) == 0 {
		return data, 0
	}
	masked, found := apply(data, edits)
	if m.report != nil {
		for _, f := range found {
			m.report(f)
		}
	}
	return masked, len(found)
}

// apply applies edits, but none within another; of two at one place it takes the longer.
func apply(data []byte, edits []edit) (masked []byte, found []Finding) {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	from := 0
	for i, e := range edits {
		if e.from < from || i+1 < len(edits) && edits[i+1].from == e.from && edits[i+1].to >= e.to {
			continue
		}
		masked = append(append(masked, data[from:e.from]...), e.text...)
		found = append(found, e.found...)
		from = e.to
	}
	return append(masked, data[from:]...), found
}

// Placeholder returns the placeholder of a secret.
func (m *Masker) Placeholder(secret string) string {
	if m.found != nil {
		*m.found = append(*m.found, secret)
	}
	h := hmac.New(sha256.New, m.key)
	h.Write([]byte(secret))
	return "[redacted:" + hex.EncodeToString(h.Sum(nil)[:8]) + "]"
}

// placeholder matches a placeholder, also one that a sentence cuts.
var placeholder = lazily(`\[redacted:(?:[0-9a-f]{16}\]|[0-9a-f]{0,15}"?…)`)
