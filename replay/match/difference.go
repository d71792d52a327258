package match

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// StepResult is the outcome of a recorded step played to a live end.
type StepResult string

// The results of a step.
const (
	// Match: the live message equals the recorded message, apart from Mappings.
	Match StepResult = "match"
	// Mismatch: the live message differs, or came at another place in the order.
	Mismatch StepResult = "mismatch"
	// Missing: no live message came for the recorded message.
	Missing StepResult = "missing"
	// Extra: no recorded message stands for the live message.
	Extra StepResult = "extra"
	// NotSent: a recorded frame of the played end was not sent, because an awaited message did
	// not come.
	NotSent StepResult = "not sent"
)

// StepVerdict is the verdict on a recorded step played to a live end.
type StepVerdict struct {
	Seq         uint64              // the recorded event; of an extra message the nearest, or 0
	Dir         transport.Direction // of the message
	What        string              // tools/call echo; the answer to tools/call echo; notifications/progress
	Result      StepResult
	Differences []Difference // of a mismatch in content; of an extra request: from the nearest
	More        int          // unlisted differences
	Order       string       // of a mismatch in order: came after #8, the answer to tools/call; recorded before it
	Mapped      []Mapping    // what was not compared as it stands, and why
	Text        string       // one sentence, for everything but a match
	Call        Call         // that it is about
	Masked      []string     // of an answer: the placeholders of masked secrets with which its request was sent
}

// Difference is a place where a live message differs from the recorded message.
type Difference struct {
	Path   string `json:"path"`             // JSON pointer from the message's root
	Within string `json:"within,omitempty"` // of a text that is JSON itself: JSON pointer from its root
	Want   string `json:"want"`             // JSON text, clipped; "nothing" where there is none
	Got    string `json:"got"`
	Hint   string `json:"hint,omitempty"` // the normalizers under which the two would match: time; or ""
}

// Mapping is a place where a live message differs from the recorded message and matches
// nevertheless.
type Mapping struct {
	Path string `json:"path"` // JSON pointer from the message's root
	// By says why: variable, ignored, redacted, identity, matcher, method, order, or
	// the name of a normalizer.
	By   string `json:"by"`
	Want string `json:"want"`
	Got  string `json:"got"`
}

// String returns the verdict on one line.
func (v StepVerdict) String() string {
	if v.Text == "" {
		return string(v.Result) + ": " + v.What
	}
	return string(v.Result) + ": " + v.Text
}

// keptDifferences limits the listed differences of a message; the rest are counted.
const keptDifferences = 50

// hintLimit is the longest text, in bytes, for which a hint tries all normalizers.
const hintLimit = 1 << 16

// Comparison lists how a live message differs from a recorded message.
type Comparison struct {
	Differences []Difference // the first keptDifferences
	More        int          // unlisted differences
	Mapped      []Mapping    // differences that match nevertheless
}

// Same reports whether there are no differences besides the mapped ones.
func (c Comparison) Same() bool { return c.Count() == 0 }

// Count returns the number of differences, listed or not.
func (c Comparison) Count() int { return len(c.Differences) + c.More }

// Compare compares two messages of the same kind by params, result and error.
func (r Rules) Compare(recorded, live transport.Message, variables *Variables) Comparison {
	if recorded.Method != "" {
		r = r.For(recorded)
	}
	w := walk{rules: r, variables: variables}
	w.compareParts(recorded, live)
	return w.Comparison
}

// compareParts compares params, result and error of two messages.
func (w *walk) compareParts(recorded, live transport.Message) {
	for _, part := range [...]struct {
		name           string
		recorded, live []byte
	}{
		{"params", recorded.Params, live.Params}, {"result", recorded.Result, live.Result}, {"error", recorded.Error, live.Error},
	} {
		if bytes.Equal(part.recorded, part.live) {
			continue
		}
		w.recorded = part.recorded
		w.live = part.live
		w.path = []string{part.name}
		a := treeOf(part.recorded)
		b := treeOf(part.live)
		if part.name == "params" {
			a = w.rules.paramsOf(recorded, a)
			b = w.rules.paramsOf(live, b)
		} else {
			a = withoutSubscription(a)
			b = withoutSubscription(b)
		}
		w.compare(a, b)
	}
}

// withoutSubscription drops the id of the request from a result.
func withoutSubscription(result tree) tree {
	meta := result.member(mcp.MemberMeta)
	if meta.kind != '{' || meta.member(mcp.MetaSubscriptionID).kind == 0 {
		return result
	}
	meta = meta.without(mcp.MetaSubscriptionID)
	if len(meta.keys) == 0 {
		return result.without(mcp.MemberMeta)
	}
	rest := result.without(mcp.MemberMeta)
	rest.keys = append(rest.keys, mcp.MemberMeta)
	rest.kids = append(rest.kids, meta)
	rest.sortKeys()
	return rest
}

// walk compares the trees of two values side by side.
type walk struct {
	Comparison
	rules          Rules
	variables      *Variables // nil: none
	recorded, live []byte     // the texts of the values
	path           []string
	outer          []string // the place of the JSON text within the message; nil: the message itself
	terse          bool     // count the differences, list none
}

func (w *walk) compare(a, b tree) {
	switch {
	case len(w.rules.Ignore) > 0 && w.rules.Ignores(slices.Concat(w.outer, w.path)):
		if !w.same(a, b) {
			w.addMapping("ignored", a, b)
		}
	case a.kind == '{' && b.kind == '{':
		for i, j := 0, 0; i < len(a.keys) || j < len(b.keys); {
			switch {
			case j == len(b.keys) || i < len(a.keys) && a.keys[i] < b.keys[j]:
				w.enter(a.keys[i], a.kids[i], tree{})
				i++
			case i == len(a.keys) || b.keys[j] < a.keys[i]:
				w.enter(b.keys[j], tree{}, b.kids[j])
				j++
			default:
				w.enter(a.keys[i], a.kids[i], b.kids[j])
				i++
				j++
			}
		}
	case a.kind == '[' && b.kind == '[':
		// Lists of different lengths are compared up to their equal ends.
		for n, m := len(a.kids), len(b.kids); n != m && min(n, m) > 0 && w.same(a.kids[n-1], b.kids[m-1]); {
			n--
			m--
			a.kids, b.kids = a.kids[:n], b.kids[:m]
		}
		for i := range max(len(a.kids), len(b.kids)) {
			w.enter(strconv.Itoa(i), a.element(i), b.element(i))
		}
	case a.kind == b.kind && a.isScalar() && (a.text == b.text || a.kind == '0' && w.rules.number(a.text) == w.rules.number(b.text)):
	case a.isScalar() && b.isScalar():
		if by := w.whyEqual(a, b); by != "" {
			w.addMapping(by, a, b)
		} else if !w.compareDocuments(a, b) {
			w.differ(a, b)
		}
	default:
		w.differ(a, b)
	}
}

// same reports whether two values are the same without any rule.
func (w *walk) same(a, b tree) bool {
	return a.kind == b.kind && bytes.Equal(w.recorded[a.start:a.end], w.live[b.start:b.end])
}

func (w *walk) enter(step string, a, b tree) {
	w.path = append(w.path, step)
	w.compare(a, b)
	w.path = w.path[:len(w.path)-1]
}

func (w *walk) differ(a, b tree) {
	if w.terse || len(w.Differences) >= keptDifferences {
		w.More++
		return
	}
	masked := maskPattern().MatchString(a.text)
	small := len(a.text) <= hintLimit && len(b.text) <= hintLimit
	own := a.text
	var put []change
	if a.kind == '"' && b.kind == '"' && !masked && small {
		put = w.variables.changes(memberName(w.path), own)
		a.text = string(apply([]byte(own), put)) // variables are no part of the difference
	}
	want, got := w.show(a, b)
	if len(put) > 0 && w.variables.bothRecorded && w.variables.hide(own) == own { // show each recording unchanged
		want = showText(own, recordedOffset(put, firstShown(a.text, b.text)))
	}
	d := Difference{Path: pointerText(w.path), Want: want, Got: got}
	if w.areNormal(a, b) && !masked && small {
		d.Hint = normalizersFor(Normalizers(), a.text, b.text)
	}
	w.Differences = append(w.Differences, d)
}

func (w *walk) addMapping(by string, a, b tree) {
	want, got := w.show(a, b)
	w.Mapped = append(w.Mapped, Mapping{Path: pointerText(w.path), By: by, Want: want, Got: got})
}

// memberName returns the last step of a path that is no index: an element has the name of its
// list.
func memberName(path []string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if _, err := strconv.Atoi(path[i]); err != nil {
			return path[i]
		}
	}
	return ""
}

// whyEqual says why two different scalars match nevertheless; "" if the scalars do not match.
func (w *walk) whyEqual(a, b tree) string {
	if w.variables.unmask(a, b) != nil {
		return "redacted"
	}
	if w.variables.explains(memberName(w.path), a, b) {
		return "variable"
	}
	if !w.areNormal(a, b) || len(w.rules.Normalize) == 0 {
		return ""
	}
	if by := normalizersFor(w.rules.Normalize, a.text, b.text); by != "" {
		return by
	}
	put := w.variables.put(memberName(w.path), a.text)
	if put == a.text {
		return ""
	}
	if by := normalizersFor(w.rules.Normalize, put, b.text); by != "" {
		return "variable," + by
	}
	return ""
}

// areNormal reports whether normalizers apply to two values: both are texts or both numbers,
// and neither is a protocol revision, which looks like a date.
func (w *walk) areNormal(a, b tree) bool {
	name := memberName(w.path)
	switch {
	case name == "supportedVersions", strings.HasSuffix(name, mcp.MemberProtocolVersion),
		len(w.path) > 0 && w.path[0] == "error" && (name == "supported" || name == "requested"):
		return false
	}
	return a.kind == b.kind && (a.kind == '"' || a.kind == '0')
}

// normalizersFor names the normalizers that make two texts equal: the first that suffices
// alone, else as many as are needed; "" if all do not suffice.
func normalizersFor(list []Normalizer, a, b string) string {
	for _, n := range list {
		x, y := a, b
		if n.local {
			x, y = differingParts(a, b)
		}
		if n.Apply(x) == n.Apply(y) {
			return n.Name
		}
	}
	if len(list) < 2 {
		return ""
	}
	if !slices.ContainsFunc(list, func(normalizer Normalizer) bool { return !normalizer.local }) {
		a, b = differingParts(a, b)
	}
	var names []string
	for _, n := range list {
		x := n.Apply(a)
		y := n.Apply(b)
		if x != a || y != b {
			names = append(names, n.Name)
		}
		a, b = x, y
	}
	if a != b {
		return ""
	}
	return strings.Join(names, ",")
}

// shownLength is the number of characters of a value that a report shows.
const shownLength = 60

// show formats two values for a report: JSON on one line, and the differing part of long
// texts.
func (w *walk) show(a, b tree) (want, got string) {
	if maskPattern().Match(w.recorded[a.start:a.end]) {
		return showTree(w.recorded, a), notShown
	}
	a.text, b.text = w.variables.hide(a.text), w.variables.hide(b.text)
	recorded, a := w.masked(w.recorded, a)
	live, b := w.masked(w.live, b)
	if a.kind != '"' || b.kind != '"' {
		return showTree(recorded, a), w.variables.hide(showTree(live, b))
	}
	cut := firstShown(a.text, b.text)
	return showText(a.text, cut), showText(b.text, cut)
}

// firstShown returns the first byte of two texts to show: a little before the first
// difference.
func firstShown(a, b string) int {
	cut := 0
	for cut < min(len(a), len(b)) && a[cut] == b[cut] {
		cut++
	}
	if cut -= shownLength / 3; cut < shownLength/3 || max(len(a), len(b)) <= shownLength {
		return 0
	}
	return cut
}

// recordedOffset translates an offset in a changed text to the text before the changes.
func recordedOffset(changes []change, at int) int {
	for _, c := range changes {
		switch end := c.start + len(c.value); {
		case at <= c.start:
			return at
		case at < end:
			return c.start
		}
		at += c.end - c.start - len(c.value)
	}
	return at
}

// masked returns a value of raw with masked secrets.
func (w *walk) masked(raw []byte, tree tree) ([]byte, tree) {
	if w.rules.Mask == nil || tree.kind == 0 {
		return raw, tree
	}
	value := raw[tree.start:tree.end]
	masked := w.rules.Mask(slices.Concat(w.outer, w.path), value)
	if bytes.Equal(masked, value) {
		return raw, tree
	}
	return masked, treeOf(masked)
}

// showText quotes a text from about byte from on.
func showText(text string, from int) string {
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	before, after := "", ""
	if from > 0 {
		text, before = text[from:], "…"
	}
	if runes := []rune(text[:min(len(text), 4*shownLength+4)]); len(runes) > shownLength {
		text = string(runes[:shownLength])
		after = "…"
	}
	quoted, _ := json.Marshal(text)
	return before + plainJSON.Replace(string(quoted)) + after
}

// plainJSON reverts the escapes that encoding/json adds for browsers.
var plainJSON = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

func showTree(raw []byte, tree tree) string {
	switch tree.kind {
	case 0:
		return "nothing"
	case '"':
		return showText(tree.text, 0)
	}
	raw = raw[tree.start:tree.end]
	var b bytes.Buffer
	if len(raw) > 16*shownLength || json.Compact(&b, raw) != nil {
		b.Reset()
		b.Write(bytes.Join(bytes.Fields(raw[:min(len(raw), 16*shownLength)]), []byte(" ")))
	}
	runes := []rune(strings.ToValidUTF8(b.String(), "�"))
	if len(runes) <= shownLength && b.Len() <= 16*shownLength {
		return string(runes)
	}
	return string(runes[:min(shownLength, len(runes))]) + "…"
}

// compareDocuments compares two texts that are JSON themselves, such as many tools return,
// place by place. It reports false for other texts, and for equal values in different
// spelling.
func (w *walk) compareDocuments(a, b tree) bool {
	if a.kind != '"' || b.kind != '"' || !isDocument(a.text) || !isDocument(b.text) {
		return false
	}
	inner := walk{rules: w.rules, variables: w.variables, recorded: []byte(a.text), live: []byte(b.text), terse: w.terse}
	inner.outer = slices.Concat(w.outer, w.path)
	x, errX := parseTree(inner.recorded)
	y, errY := parseTree(inner.live)
	if errX != nil || errY != nil {
		return false
	}
	inner.compare(x, y)
	if inner.Same() && len(inner.Mapped) == 0 {
		return false
	}
	path := pointerText(w.path)
	kept := min(len(inner.Differences), keptDifferences-len(w.Differences))
	for _, d := range inner.Differences[:kept] {
		d.Path, d.Within = path, d.Path+d.Within
		w.Differences = append(w.Differences, d)
	}
	w.More += inner.Count() - kept
	for _, m := range inner.Mapped {
		m.Path = path
		w.Mapped = append(w.Mapped, m)
	}
	return true
}

// isDocument reports whether a text may be a JSON object or list.
func isDocument(text string) bool {
	text = strings.TrimSpace(text)
	return len(text) > 1 && (text[0] == '{' && text[len(text)-1] == '}' || text[0] == '[' && text[len(text)-1] == ']')
}

// Place returns where the difference is: /result/content/0/text, within it /items/3/id.
func (d Difference) Place() string {
	if d.Within == "" {
		return d.Path
	}
	return d.Path + ", within it " + d.Within
}

// windowFrom is the least length, in bytes, of texts that are compared by a window.
const windowFrom = 4096

// margin is the number of equal bytes that stay in the window on each side: more than the
// longest date.
const margin = 128

// differingParts returns the differing parts of two texts with a margin, cut between words.
// Normalizers of words give the same result for these parts as for the whole, and long texts
// mostly differ in a small part.
func differingParts(a, b string) (partA, partB string) {
	if min(len(a), len(b)) < windowFrom {
		return a, b
	}
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	from = max(0, strings.LastIndexAny(a[:max(0, from-margin)], " \n"))
	a, b = a[from:], b[from:]
	end := 0
	for end < min(len(a), len(b)) && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	rest := max(0, end-margin)
	cut := strings.IndexAny(a[len(a)-rest:], " \n")
	if cut < 0 {
		return a, b
	}
	rest -= cut
	return a[:len(a)-rest], b[:len(b)-rest]
}

// Sentence describes the first difference and counts the others.
func (c Comparison) Sentence() string {
	d := c.Differences[0]
	if c.Count() == 2 && d.Path == "/result" && c.Differences[1].Path == "/error" {
		failure := c.Differences[1]
		if d.Got == "nothing" {
			return fmt.Sprintf("is an error: recorded the result %s, got the error %s", d.Want, failure.Got)
		}
		return fmt.Sprintf("is no error: recorded the error %s, got the result %s", failure.Want, d.Got)
	}
	text := fmt.Sprintf("differs at %s: recorded %s, got %s", d.Place(), d.Want, d.Got)
	if d.Hint != "" {
		text += fmt.Sprintf(" (would match with normalizer %s)", d.Hint)
	}
	if more := c.Count() - 1; more > 0 {
		text += fmt.Sprintf(", and in %s more", phrase.Plural(more, "place"))
	}
	return text
}

// AsMapped returns the comparison with its differences as mappings, which do not count.
func (c Comparison) AsMapped(by string) Comparison {
	for _, d := range c.Differences {
		c.Mapped = append(c.Mapped, Mapping{Path: d.Path, By: by, Want: d.Want, Got: d.Got})
	}
	return Comparison{Mapped: c.Mapped}
}
