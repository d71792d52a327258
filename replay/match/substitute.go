package match

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// IsEmpty reports whether no variable has a live value.
func (v *Variables) IsEmpty() bool {
	return v == nil || len(v.named) == 0 && len(v.anywhere) == 0
}

// whole returns the live values of a member's value.
func (v *Variables) whole(name, text string) []string {
	if kind := handleKind(name); kind != "" {
		if list := v.named[Handle{kind, text}]; len(list) > 0 {
			return list
		}
	}
	return v.anywhere[text]
}

// put returns a recorded text with the newest live values in it.
func (v *Variables) put(name, text string) string {
	changes := v.changes(name, text)
	if len(changes) == 0 {
		return text
	}
	return string(apply([]byte(text), changes))
}

// changes lists the places of a recorded text where live values belong.
func (v *Variables) changes(name, text string) (list []change) {
	if v.IsEmpty() {
		return nil
	}
	if live := v.whole(name, text); len(live) > 0 {
		return []change{{0, len(text), []byte(live[len(live)-1])}}
	}
	if len(v.anywhere) == 0 {
		return nil
	}
	for _, t := range wordsOf(text) {
		if live := v.anywhere[t.text]; len(live) > 0 {
			list = append(list, change{t.start, t.end, []byte(live[len(live)-1])})
		}
	}
	return list
}

// explains reports whether a live scalar is the recorded scalar with values made up by the
// live end.
func (v *Variables) explains(name string, a, b tree) bool {
	switch {
	case v.IsEmpty() || a.kind != b.kind:
		return false
	case slices.Contains(v.whole(name, a.text), b.text):
		return true
	case a.kind != '"' || b.kind != '"' || len(v.anywhere) == 0:
		return false
	}
	was, is := differingParts(a.text, b.text)
	return v.spells(was, wordsOf(was), 0, is)
}

// mostTried limits the live values of a recorded value that are tried within a text, for one
// may be a prefix of another.
const mostTried = 8

// spells reports whether live is the recorded text, from byte from on, with any live value in
// the place of each word that has some.
func (v *Variables) spells(recorded string, tokens []word, from int, live string) bool {
	for i, t := range tokens {
		list := v.anywhere[t.text]
		if len(list) == 0 {
			continue
		}
		list = list[max(0, len(list)-mostTried):]
		rest, ok := strings.CutPrefix(live, recorded[from:t.start])
		if !ok {
			return false
		}
		for _, value := range slices.Backward(list) {
			if after, ok := strings.CutPrefix(rest, value); ok && v.spells(recorded, tokens[i+1:], t.end, after) {
				return true
			}
		}
		return false
	}
	return from > 0 && live == recorded[from:]
}

// Inverse returns the recorded values by the live ones.
func (v *Variables) Inverse() *Variables {
	if v.inverted != nil {
		return v.inverted
	}
	back := &Variables{named: map[Handle][]string{}, anywhere: map[string][]string{}}
	for key, list := range v.named {
		for _, live := range list {
			back.named[Handle{key.Kind, live}] = []string{key.Value}
		}
	}
	for recorded, list := range v.anywhere {
		for _, live := range list {
			back.anywhere[live] = []string{recorded}
		}
	}
	v.inverted = back
	return back
}

// Substitute returns a recorded frame with the live values of variables and every other byte
// unchanged. Ids and tokens of requests are not variables.
func (v *Variables) Substitute(frame []byte) []byte {
	if v.IsEmpty() {
		return frame
	}
	r := substitution{Variables: v, text: frame}
	root := treeOf(frame)
	messages := []tree{root}
	if root.kind == '[' {
		messages = root.kids
	}
	for _, m := range messages {
		for _, part := range [...]string{"params", "result", "error"} {
			r.walk(m.member(part), part)
		}
	}
	return r.result()
}

// SubstituteParams is Substitute for the params of a message.
func (v *Variables) SubstituteParams(params []byte) []byte {
	r := substitution{Variables: v, text: params}
	r.walk(treeOf(params), "params")
	return r.result()
}

// substitution collects the changes to a text.
type substitution struct {
	*Variables
	text []byte
	list []change
}

func (r *substitution) result() []byte {
	if len(r.list) == 0 {
		return r.text
	}
	slices.SortFunc(r.list, func(a, b change) int { return a.start - b.start })
	return apply(r.text, r.list)
}

func (r *substitution) walk(tree tree, name string) {
	for i, kid := range tree.kids {
		if tree.kind == '{' {
			name = tree.keys[i]
		}
		if name != mcp.MemberProgressToken && name != mcp.MemberRequestID && name != mcp.MetaSubscriptionID {
			r.walk(kid, name)
		}
	}
	if tree.kind != '"' && tree.kind != '0' {
		return
	}
	changes := r.Variables.changes(name, tree.text)
	switch {
	case len(changes) == 0:
	case tree.kind == '0':
		value := apply([]byte(tree.text), changes)
		if !json.Valid(value) {
			value = quoteJSON(string(value))
		}
		r.list = append(r.list, change{tree.start, tree.end, value})
	default:
		r.within(tree, changes)
	}
}

// within translates changes of a string without escapes to the written string, and leaves the
// spelling of the text around.
func (r *substitution) within(tree tree, changes []change) {
	at, said := tree.start+1, 0
	place := func(offset int) int {
		for said < offset {
			long, short := escape(r.text[at : tree.end-1])
			at, said = at+long, said+short
		}
		return at
	}
	for _, c := range changes {
		value := quoteJSON(string(c.value))
		start := place(c.start)
		r.list = append(r.list, change{start, place(c.end), value[1 : len(value)-1]})
	}
}

// maskPattern finds placeholders of secrets: keyed hashes, so that equal secrets stay equal.
var maskPattern = phrase.Regexp(`\[redacted:[0-9a-f]{16}\]`)

// Masks returns the placeholders of secrets in a text.
func Masks(text []byte) [][]byte { return maskPattern().FindAll(text, -1) }

// unmask returns the live values of the masked parts of a recorded text, by placeholder. No
// value is empty, and each secret has the same value everywhere. It returns nil if nothing is
// masked, or if the rest of the text differs.
func (v *Variables) unmask(recorded, live tree) map[string]string {
	if recorded.kind != '"' || live.kind != '"' || !strings.Contains(recorded.text, "[redacted:") {
		return nil
	}
	var secrets map[string]string
	from, rest := 0, live.text
	places := maskPattern().FindAllStringIndex(recorded.text, -1)
	for i, at := range places {
		var ok bool
		rest, ok = strings.CutPrefix(rest, v.put("", recorded.text[from:at[0]]))
		if !ok {
			return nil
		}
		end := len(recorded.text)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		mask := recorded.text[at[0]:at[1]]
		value := secrets[mask]
		if v != nil && len(v.anywhere[mask]) > 0 {
			value = v.anywhere[mask][0]
		}
		if value == "" {
			value = upTo(rest, v.put("", recorded.text[at[1]:end]), i+1 == len(places))
		}
		rest, ok = strings.CutPrefix(rest, value)
		if !ok || value == "" {
			return nil
		}
		if secrets == nil {
			secrets = map[string]string{}
		}
		secrets[mask] = value
		from = at[1]
	}
	if from == 0 || rest != v.put("", recorded.text[from:]) {
		return nil
	}
	return secrets
}

// upTo returns the text before next: before its first place behind the first byte, or, with
// last, before its place at the end. Without a place it returns "".
func upTo(text, next string, last bool) string {
	switch {
	case text == "":
	case last:
		if before, ok := strings.CutSuffix(text, next); ok {
			return before
		}
	default:
		if i := strings.Index(text[1:], next); i >= 0 {
			return text[:1+i]
		}
	}
	return ""
}

// notShown stands in reports for a live value whose recorded value is masked.
const notShown = "(not shown)"

// hide replaces the secrets in a text by placeholders.
func (v *Variables) hide(text string) string {
	if v == nil {
		return text
	}
	for mask := range v.masks {
		if secret := v.anywhere[mask][0]; len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, mask)
		}
	}
	return text
}
