package replay

import (
	"iter"

	"github.com/mcprec/mcprec/transport"
)

// returned knows of the values that one end said in a recording when it said them,
// to tell which of the other end's values came back. It reads the recording when
// it is first asked: a live end that differs in nothing costs nothing.
type returned struct {
	said   iter.Seq2[int, transport.Frame] // by how many messages it had heard
	firsts map[spotKey]int                 // heard when it was said first; of a kind of member, or of any place: kind ""
}

// comes reports whether a value that was heard as message position came back, and
// was not said before it was heard.
func (r *returned) comes(key spotKey, position int) bool {
	first, ok := r.find(key)
	return ok && first > position
}

// began reports whether a value was said before it was heard as message position.
func (r *returned) began(key spotKey, position int) bool {
	first, ok := r.find(key)
	return ok && first <= position
}

func (r *returned) find(key spotKey) (heard int, ok bool) {
	if r.firsts == nil {
		r.firsts = map[spotKey]int{}
		for heard, f := range r.said {
			for _, m := range messagesOf(f) {
				for _, raw := range [][]byte{m.Params, m.Result, m.Error} {
					r.note(treeOf(raw), "", heard)
				}
			}
		}
	}
	heard, ok = r.firsts[key]
	if !ok && key.kind != "" && isDistinct(key.value) {
		heard, ok = r.firsts[spotKey{"", key.value}]
	}
	return heard, ok
}

// note takes in the values of a tree.
func (r *returned) note(n tree, name string, heard int) {
	for i, kid := range n.kids {
		if n.kind == '{' {
			name = n.keys[i]
		}
		r.note(kid, name, heard)
	}
	if n.kind != '"' && n.kind != '0' {
		return
	}
	r.first(spotKey{"", n.text}, heard)
	if kind := kindOf(name); kind != "" {
		r.first(spotKey{kind, n.text}, heard)
	}
	if n.kind != '"' {
		return
	}
	for _, t := range tokensOf(n.text) {
		r.first(spotKey{"", t.text}, heard)
	}
}

// first keeps where a value was said first.
func (r *returned) first(key spotKey, heard int) {
	if _, ok := r.firsts[key]; !ok {
		r.firsts[key] = heard
	}
}
