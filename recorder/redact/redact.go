package redact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"regexp"
	"strings"
	"sync"
)

// Rules are what a user adds to the rules that are built in. The zero value adds
// nothing.
type Rules struct {
	// Keys name members, arguments and variables whose values are secret, whatever is
	// in them; case, '-' and '_' do not matter, and '*' stands for anything.
	Keys []string
	// Patterns find secrets in text; of one with a group the group is the secret.
	Patterns []*regexp.Regexp
	// Pointers are JSON pointers into messages; '*' stands for any member.
	Pointers []string
	// Values are secrets themselves.
	Values []string
}

// Redactor holds the rules. It may be used concurrently.
type Redactor struct {
	key      []byte
	finder   *finder
	globs    []string
	patterns []*regexp.Regexp
	root     *node
	always   bool       // the first look cannot tell
	looks    *sync.Pool // of *text
	clears   *sync.Pool // of *[]byte: what streams keep of open frames
	report   func(Finding)
}

// New returns a Redactor whose placeholders are made with the key.
func New(key []byte, rules Rules) (*Redactor, error) {
	r := &Redactor{key: key, looks: new(sync.Pool), clears: new(sync.Pool), patterns: rules.Patterns, finder: newFinder(), root: immuneTree()}
	for _, p := range rules.Pointers {
		if p == "" || p[0] != '/' {
			return nil, fmt.Errorf("redact pointer %q: it must begin with /, such as /params/arguments/pin", p)
		}
		r.root.add(p, node{whole: true})
		r.always = true
	}
	for _, k := range rules.Keys {
		glob := plainName(k)
		if strings.Trim(glob, "*") == "" {
			return nil, fmt.Errorf("redact key %q: no letter or digit in it", k)
		}
		r.globs = append(r.globs, glob)
		r.finder.addName(k)
		r.always = true
	}
	for _, v := range rules.Values {
		r.finder.addValue(v)
	}
	return r, nil
}

// Reporting returns a Redactor of the same rules that tells fn of every secret.
func (r *Redactor) Reporting(fn func(Finding)) *Redactor {
	other := *r
	other.report = fn
	return &other
}

// Found tells of a secret that was found by other means.
func (r *Redactor) Found(f Finding) {
	if r.report != nil {
		r.report(f)
	}
}

// MaskSize is the length of a placeholder.
const MaskSize = len("[redacted:0123456789abcdef]")

func (r *Redactor) mac() hash.Hash { return hmac.New(sha256.New, r.key) }

func sumMask(h hash.Hash) string {
	return "[redacted:" + hex.EncodeToString(h.Sum(nil)[:8]) + "]"
}

// Mask returns the placeholder of a secret.
func (r *Redactor) Mask(secret string) string {
	h := r.mac()
	h.Write([]byte(secret))
	return sumMask(h)
}

// isMask reports whether b is a placeholder, and nothing else.
func isMask(b []byte) bool { return maskAt(b) == len(b) && len(b) > 0 }

// maskAt returns the length of the placeholder that b begins with, or 0.
func maskAt(b []byte) int {
	if len(b) < MaskSize || string(b[:10]) != "[redacted:" || b[MaskSize-1] != ']' {
		return 0
	}
	for _, c := range b[10 : MaskSize-1] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return 0
		}
	}
	return MaskSize
}

// Finding is a secret that was replaced. It does not hold the secret.
type Finding struct {
	Rule string // which rule found it
	Path string // the JSON pointer of the string or number it is in; "" in text
}

// Clean reports whether a frame is known to have no secret, as far as a quick look can
// tell.
func (r *Redactor) Clean(b []byte) bool {
	_, clean := r.pooled(b, false)
	return clean
}

// Frame returns a frame without its secrets, and how many places were replaced; the
// frame itself if there are none.
func (r *Redactor) Frame(b []byte) ([]byte, int) {
	return r.whole(b, false)
}

// Text returns a line of text without its secrets, and how many places were replaced.
func (r *Redactor) Text(b []byte) ([]byte, int) {
	return r.whole(b, true)
}

// String is Text for strings.
func (r *Redactor) String(text string) (string, int) {
	b, n := r.Text([]byte(text))
	if n == 0 {
		return text, 0
	}
	return string(b), n
}

// URI returns a URI without the secrets that its query and its user have, and how many
// were replaced.
func (r *Redactor) URI(uri string) (string, int) {
	s := Stream{r: r, lines: true, report: r.report, begun: true, buf: []byte(uri)}
	decided := s.textPiece(0, len(uri), true, context{zone: uriZone}, false)
	return string(s.take(decided)), s.count
}
