package replay

import (
	"iter"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
)

// variables are the values that a live end made up where the recorded one had made
// up others: task ids, cursors, request states, whatever looks made up and comes
// back. They are learned from its messages, put in what it is sent, and taken as
// equal in what it says.
//
// A value is one, and not a fault of the live end, when it stands where the
// recorded value stood, and
//
//   - the protocol says that who answers makes it up (nextCursor, requestState, the
//     taskId of a new task, elicitationId), or
//   - it is an id by the name of its member (id, sessionId, order_id, pageToken …) and
//     no plain word, or it looks made up (a UUID, long hex or digits, a time, a host's
//     port, also within text); and it was said first by that end, and came back in a
//     later message of the other.
//
// So names, uris and ordinary words are compared, however often they come back.
//
// The values of members are known by what the member holds, and are put only in
// such members; those that look made up are put wherever they stand.
type variables struct {
	named    map[spotKey][]string // recorded value → live ones, the newest last
	anywhere map[string][]string
	masks    map[string]bool // those of anywhere that stand for secrets
	opposite *variables      // what inverse has returned, while it holds
	back     *returned
	twice    bool // of two recordings: a UUID need not come back
}

// newVariables returns what is to be learned of an end. said is what the other end
// said in the recording, with how many messages of the first it had heard.
func newVariables(said iter.Seq2[int, transport.Frame]) *variables {
	return &variables{named: map[spotKey][]string{}, anywhere: map[string][]string{}, masks: map[string]bool{}, back: &returned{said: said}}
}

// makers are members in which the end that sends them has always made up the value.
var makers = map[string]bool{"nextCursor": true, "requestState": true}

// kindOf says what a member of that name holds, if it is an id of some sort.
func kindOf(name string) string {
	if kind := spotKinds[name]; kind != "" {
		return kind
	}
	if name != "requestId" && name != "progressToken" && idName().MatchString(name) {
		return "id"
	}
	return ""
}

// idName tells members that hold ids by their name.
var idName = phrase.Regexp(`^(?:id|ids|uuid|guid|handle|session|token|cursor)$|^[\w-]*(?:[a-z0-9]I[dD]s?|[_-]ids?|Token|_token|Cursor|_cursor)$`)

// isPlainWord reports whether a value is one that people use: letters alone. What a
// member called id says may be one: the slug of a page, the name of a channel.
func isPlainWord(value string) bool {
	return value != "" && strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_ ") == ""
}

// learn compares what a live message says with the recorded one, which came after
// position messages of the end.
func (v *variables) learn(recorded, live transport.Message, position int) {
	for _, part := range [...][2][]byte{
		{recorded.Params, live.Params}, {recorded.Result, live.Result}, {recorded.Error, live.Error},
	} {
		if len(part[0]) > 0 && len(part[1]) > 0 && !slices.Equal(part[0], part[1]) {
			w := learner{variables: v, position: position}
			w.walk(treeOf(part[0]), treeOf(part[1]))
		}
	}
}

// learner walks two values side by side.
type learner struct {
	*variables
	position int
	path     []string
}

func (w *learner) walk(a, b tree) {
	switch {
	case a.kind == '{' && b.kind == '{':
		for i, key := range a.keys {
			w.enter(key, a.kids[i], b.member(key))
		}
	case a.kind == '[' && b.kind == '[':
		for i, kid := range a.kids {
			w.enter("0", kid, b.element(i))
		}
	case a.isScalar() && b.isScalar() && a.text != b.text:
		w.scalar(a, b)
	}
}

func (w *learner) enter(step string, a, b tree) {
	if b.kind == 0 {
		return
	}
	w.path = append(w.path, step)
	w.walk(a, b)
	w.path = w.path[:len(w.path)-1]
}

func (w *learner) scalar(a, b tree) {
	for mask, text := range w.unmask(a, b) {
		w.addAnywhere(mask, text)
		w.masks[mask] = true
	}
	if a.kind != b.kind || a.kind != '"' && a.kind != '0' {
		return // an id that becomes a text from a number is another interface
	}
	if isDocument(a.text) && isDocument(b.text) {
		w.walk(treeOf([]byte(a.text)), treeOf([]byte(b.text)))
	}
	name := memberName(w.path)
	key := spotKey{kindOf(name), a.text}
	switch {
	case key.kind != "" && (w.isMaker(name) || w.isToken(name, key) || w.isNew(key)):
		w.add(key, b.text)
	case isOpaque(a.text) && isOpaque(b.text) && w.isNew(spotKey{"", a.text}):
		w.addAnywhere(a.text, b.text)
	}
	was, is := window(a.text, b.text)
	old, fresh := shaped(tokensOf(was)), shaped(tokensOf(is))
	if !slices.EqualFunc(old, fresh, func(x, y token) bool { return x.shape == y.shape }) {
		return
	}
	for i, t := range old {
		if t.text != fresh[i].text && t.shape != "redacted" && w.isNew(spotKey{"", t.text}) {
			w.addAnywhere(t.text, fresh[i].text)
		}
	}
}

// isMaker reports whether the value at the place is always the speaker's own.
func (w *learner) isMaker(name string) bool {
	n := len(w.path)
	return makers[name] || name == "taskId" && n > 1 && w.path[n-2] == "task"
}

// isToken reports whether the protocol says that the value is made up, and it is
// not one that the other end gave.
func (w *learner) isToken(name string, key spotKey) bool {
	return (name == "taskId" || name == "elicitationId") && !w.isKnown(key) && !w.back.began(key, w.position)
}

// isNew reports whether a recorded value is the end's own that was not learned yet,
// and comes back.
func (w *learner) isNew(key spotKey) bool {
	if key.kind == "id" && isPlainWord(key.value) {
		return false
	}
	return !w.isKnown(key) && (w.twice && wordShape(key.value) == "uuid" || w.back.comes(key, w.position))
}

func (v *variables) isKnown(key spotKey) bool {
	return len(v.named[key]) > 0 || len(v.anywhere[key.value]) > 0
}

func (v *variables) add(key spotKey, live string) {
	v.opposite = nil
	v.named[key] = newest(v.named[key], live)
	if isDistinct(key.value) {
		v.addAnywhere(key.value, live)
	}
}

func (v *variables) addAnywhere(recorded, live string) {
	v.opposite = nil
	v.anywhere[recorded] = newest(v.anywhere[recorded], live)
}

// newest puts a value at the end of a list. All are kept: the verdicts are given at
// the end, and each message has its own.
func newest(list []string, value string) []string {
	if n := len(list); n > 0 && list[n-1] == value {
		return list
	}
	return append(slices.DeleteFunc(list, func(s string) bool { return s == value }), value)
}

// isDistinct reports whether a value may be looked for in a text.
func isDistinct(value string) bool {
	return isOpaque(value) || len(value) >= 4 && strings.ContainsAny(value, "0123456789") && strings.Trim(value, "0123456789.") != ""
}

// isEmpty reports whether there is nothing to put.
func (v *variables) isEmpty() bool {
	return v == nil || len(v.named) == 0 && len(v.anywhere) == 0
}

// whole returns the live values of a member's value.
func (v *variables) whole(name, text string) []string {
	if kind := kindOf(name); kind != "" {
		if list := v.named[spotKey{kind, text}]; len(list) > 0 {
			return list
		}
	}
	return v.anywhere[text]
}

// put returns a recorded text with the newest live values in it.
func (v *variables) put(name, text string) string {
	changes := v.changes(name, text)
	if len(changes) == 0 {
		return text
	}
	return string(apply([]byte(text), changes))
}

// changes are the places of a recorded text where live values belong.
func (v *variables) changes(name, text string) (list []change) {
	if v.isEmpty() {
		return nil
	}
	if live := v.whole(name, text); len(live) > 0 {
		return []change{{0, len(text), []byte(live[len(live)-1])}}
	}
	if len(v.anywhere) == 0 {
		return nil
	}
	for _, t := range tokensOf(text) {
		if live := v.anywhere[t.text]; len(live) > 0 {
			list = append(list, change{t.start, t.end, []byte(live[len(live)-1])})
		}
	}
	return list
}

// explains reports whether a live scalar is the recorded one with values put in
// that the live end had made up.
func (v *variables) explains(name string, a, b tree) bool {
	switch {
	case v.isEmpty() || a.kind != b.kind:
		return false
	case slices.Contains(v.whole(name, a.text), b.text):
		return true
	case a.kind != '"' || b.kind != '"' || len(v.anywhere) == 0:
		return false
	}
	was, is := window(a.text, b.text)
	return v.spells(was, tokensOf(was), 0, is)
}

// tried is how many live values of one recorded are tried within a text, where one
// may begin as another does.
const tried = 8

// spells reports whether live is recorded from byte from on, with any of the live
// values for each token that has some.
func (v *variables) spells(recorded string, tokens []token, from int, live string) bool {
	for i, t := range tokens {
		list := v.anywhere[t.text]
		if len(list) == 0 {
			continue
		}
		list = list[max(0, len(list)-tried):]
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

// inverse returns the recorded values by the live ones.
func (v *variables) inverse() *variables {
	if v.opposite != nil {
		return v.opposite
	}
	back := &variables{named: map[spotKey][]string{}, anywhere: map[string][]string{}}
	for key, list := range v.named {
		for _, live := range list {
			back.named[spotKey{key.kind, live}] = []string{key.value}
		}
	}
	for recorded, list := range v.anywhere {
		for _, live := range list {
			back.anywhere[live] = []string{recorded}
		}
	}
	v.opposite = back
	return back
}
