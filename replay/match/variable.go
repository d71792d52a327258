package match

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Variables maps the values made up by the recorded end to the values made up by the live end
// in the same places: task ids, cursors, request states, and whatever looks made up and comes
// back. Variables are learned from the live end's messages, substituted in the frames sent to
// the live end, and equal in comparisons.
//
// A live value in the place of a recorded value is a variable, and not a fault, if
//
//   - the protocol lets the speaker make it up (nextCursor, requestState, the taskId of a new
//     task, elicitationId), or
//   - its member is named like an id (id, sessionId, order_id, pageToken …) and it is no plain
//     word, or it looks made up (a UUID, long hex or digits, a time, a host's port, also
//     within text); and this end said it first, and the other end's later message repeats it.
//
// So names, uris and ordinary words are compared, however often they come back.
//
// A value known by its member's kind is substituted only in members of this kind; a value that
// looks made up is substituted everywhere.
type Variables struct {
	named        map[Handle][]string // recorded value → live ones, the newest last
	anywhere     map[string][]string
	masks        map[string]bool // keys of anywhere that stand for secrets
	inverted     *Variables      // cached result of Inverse; nil after a change
	recurrences  *recurrence
	bothRecorded bool // of two recordings: a UUID need not come back
}

// NewVariables returns the empty Variables of an end. said yields the recorded frames of the
// other end, each with the number of this end's earlier messages.
func NewVariables(said iter.Seq2[int, transport.Frame]) *Variables {
	return &Variables{named: map[Handle][]string{}, anywhere: map[string][]string{}, masks: map[string]bool{}, recurrences: &recurrence{said: said}}
}

// alwaysMadeUp are members whose sender always makes up the value.
var alwaysMadeUp = map[string]bool{mcp.MemberNextCursor: true, mcp.MemberRequestState: true}

// handleKind returns the kind of a member that holds an id by its name, or "".
func handleKind(name string) string {
	if kind := handleKinds[name]; kind != "" {
		return kind
	}
	if name != mcp.MemberRequestID && name != mcp.MemberProgressToken && idName().MatchString(name) {
		return "id"
	}
	return ""
}

// idName matches names of members that hold ids.
var idName = phrase.Regexp(`^(?:id|ids|uuid|guid|handle|session|token|cursor)$|^[\w-]*(?:[a-z0-9]I[dD]s?|[_-]ids?|Token|_token|Cursor|_cursor)$`)

// isPlainWord reports whether a value has only letters. A member called id may hold one: the
// slug of a page, the name of a channel.
func isPlainWord(value string) bool {
	return value != "" && strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_ ") == ""
}

// Learn compares a live message with the recorded message, before which the end had sent
// position messages.
func (v *Variables) Learn(recorded, live transport.Message, position int) {
	for _, part := range [...][2][]byte{
		{recorded.Params, live.Params}, {recorded.Result, live.Result}, {recorded.Error, live.Error},
	} {
		if len(part[0]) > 0 && len(part[1]) > 0 && !slices.Equal(part[0], part[1]) {
			w := learner{Variables: v, position: position}
			w.walk(treeOf(part[0]), treeOf(part[1]))
		}
	}
}

// learner walks two values side by side.
type learner struct {
	*Variables
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
	key := Handle{handleKind(name), a.text}
	n := len(w.path)
	isAlwaysMadeUp := alwaysMadeUp[name] || name == mcp.MemberTaskID && n > 1 && w.path[n-2] == "task"
	if !isAlwaysMadeUp && (name == mcp.MemberTaskID || name == mcp.MemberElicitationID) && !w.isKnown(key) {
		first, ok := w.recurrences.firstHeard(key)
		isAlwaysMadeUp = !ok || first > w.position // unless the other end had sent the value before
	}
	switch {
	case key.Kind != "" && (isAlwaysMadeUp || w.isNew(key)):
		w.add(key, b.text)
	case isOpaque(a.text) && isOpaque(b.text) && w.isNew(Handle{"", a.text}):
		w.addAnywhere(a.text, b.text)
	}
	was, is := differingParts(a.text, b.text)
	old := madeUp(was)
	fresh := madeUp(is)
	if !slices.EqualFunc(old, fresh, func(x, y word) bool { return x.shape == y.shape }) {
		return
	}
	for i, t := range old {
		if t.text != fresh[i].text && t.shape != "redacted" && w.isNew(Handle{"", t.text}) {
			w.addAnywhere(t.text, fresh[i].text)
		}
	}
}

// isNew reports whether a recorded value is the end's own, unknown so far, and comes back.
func (w *learner) isNew(key Handle) bool {
	if key.Kind == "id" && isPlainWord(key.Value) {
		return false
	}
	switch {
	case w.isKnown(key):
		return false
	case w.bothRecorded && wordShape(key.Value) == "uuid":
		return true
	}
	first, ok := w.recurrences.firstHeard(key)
	return ok && first > w.position
}

func (v *Variables) isKnown(key Handle) bool {
	return len(v.named[key]) > 0 || len(v.anywhere[key.Value]) > 0
}

func (v *Variables) add(key Handle, live string) {
	v.inverted = nil
	v.named[key] = newest(v.named[key], live)
	if isDistinct(key.Value) {
		v.addAnywhere(key.Value, live)
	}
}

func (v *Variables) addAnywhere(recorded, live string) {
	v.inverted = nil
	v.anywhere[recorded] = newest(v.anywhere[recorded], live)
}

// newest moves a value to the end of a list. Older values stay: verdicts come at the end of a
// session, and each message has its own.
func newest(list []string, value string) []string {
	if n := len(list); n > 0 && list[n-1] == value {
		return list
	}
	return append(slices.DeleteFunc(list, func(s string) bool { return s == value }), value)
}

// isDistinct reports whether a value is unlikely to stand in a text by chance.
func isDistinct(value string) bool {
	return isOpaque(value) || len(value) >= 4 && strings.ContainsAny(value, "0123456789") && strings.Trim(value, "0123456789.") != ""
}

// recurrence knows when the other end said each value first, and so whether a value came
// back. It reads the recording at the first question: a live end without differences costs
// nothing.
type recurrence struct {
	said   iter.Seq2[int, transport.Frame] // by the number of messages heard before
	firsts map[Handle]int                  // messages heard before the value was said first; kind "" is any place
}

func (r *recurrence) firstHeard(key Handle) (heard int, ok bool) {
	if r.firsts == nil {
		r.firsts = map[Handle]int{}
		for heard, f := range r.said {
			for _, m := range timeline.MessagesOf(f) {
				for _, raw := range [][]byte{m.Params, m.Result, m.Error} {
					r.addTree(treeOf(raw), "", heard)
				}
			}
		}
	}
	heard, ok = r.firsts[key]
	if !ok && key.Kind != "" && isDistinct(key.Value) {
		heard, ok = r.firsts[Handle{"", key.Value}]
	}
	return heard, ok
}

// addTree takes in the values of a tree.
func (r *recurrence) addTree(tree tree, name string, heard int) {
	for i, kid := range tree.kids {
		if tree.kind == '{' {
			name = tree.keys[i]
		}
		r.addTree(kid, name, heard)
	}
	if tree.kind != '"' && tree.kind != '0' {
		return
	}
	r.add(Handle{"", tree.text}, heard)
	if kind := handleKind(name); kind != "" {
		r.add(Handle{kind, tree.text}, heard)
	}
	if tree.kind != '"' {
		return
	}
	for _, t := range wordsOf(tree.text) {
		r.add(Handle{"", t.text}, heard)
	}
}

// add keeps the first time of a value.
func (r *recurrence) add(key Handle, heard int) {
	if _, ok := r.firsts[key]; !ok {
		r.firsts[key] = heard
	}
}

// Handle is a value made up by one end and repeated by the other, with the kind: a cursor, a
// task id, a request state.
type Handle struct{ Kind, Value string }

// handleKinds are the kinds of handles by name of member.
var handleKinds = map[string]string{"cursor": "cursor", mcp.MemberNextCursor: "cursor", mcp.MemberTaskID: "task", mcp.MemberRequestState: "state"}

// HandlesIn lists the handles in a JSON value, in a fixed order.
func HandlesIn(raw json.RawMessage) []Handle {
	var found []Handle
	for name := range handleKinds {
		if bytes.Contains(raw, []byte(name)) { // nearly never: a call has no handle
			appendHandles(treeOf(raw), &found)
			break
		}
	}
	return found
}

func appendHandles(tree tree, found *[]Handle) {
	for i, kid := range tree.kids {
		if tree.kind == '{' && kid.kind == '"' && handleKinds[tree.keys[i]] != "" {
			*found = append(*found, Handle{handleKinds[tree.keys[i]], kid.text})
		}
		appendHandles(kid, found)
	}
}

// word is a part of a text that may be a value on its own: a word of letters and digits, or
// a longer form such as a time.
type word struct {
	text       string
	shape      string // uuid, hex, time, …; "" is an ordinary word
	start, end int
}

// Longer forms than words, at the beginning of a text.
var (
	maskAhead = phrase.Regexp(`^\[redacted:[0-9a-f]{16}\]`)
	timeAhead = phrase.Regexp(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?`)
	hostAhead = phrase.Regexp(`^(?:localhost|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[[0-9a-f:]*:[0-9a-f:]*\]):\d{2,5}`)
)

// wordsOf returns the placeholders of secrets, times, hosts with a port, and words of a text.
func wordsOf(text string) []word {
	var list []word
	for i := 0; i < len(text); {
		t := wordAt(text, i)
		if t.end == i {
			i++
			continue
		}
		t.text = text[i:t.end]
		t.start = i
		if t.shape == "word" {
			t.shape = wordShape(t.text)
		}
		list = append(list, t)
		i = t.end
	}
	return list
}

// wordAt returns the word that begins at i, which may be empty. The patterns are slow and
// tried only where a match is possible.
func wordAt(text string, i int) word {
	ahead := text[i:min(len(text), i+64)]
	switch c := text[i]; {
	case c == '[':
		if n := len(maskAhead().FindString(ahead)); n > 0 {
			return word{shape: "redacted", end: i + n}
		}
		return word{shape: "port", end: i + len(hostAhead().FindString(ahead))}
	case !isWordByte(c) || c == '-':
		return word{end: i}
	case len(ahead) >= 16 && ahead[4] == '-' && ahead[13] == ':':
		if n := len(timeAhead().FindString(ahead)); n > 0 {
			return word{shape: "time", end: i + n}
		}
	}
	end := i
	for end < len(text) && isWordByte(text[end]) {
		end++
	}
	if end < len(text) && (text[end] == '.' && end-i <= 3 || text[end] == ':' && text[i:end] == "localhost") {
		if n := len(hostAhead().FindString(ahead)); n > 0 {
			return word{shape: "port", end: i + n}
		}
	}
	return word{shape: "word", end: end}
}

func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// madeUp returns the words of a text that look made up.
func madeUp(text string) []word {
	return slices.DeleteFunc(wordsOf(text), func(word word) bool { return word.shape == "" })
}

// wordShape classifies a word: uuid, digits, hex, or opaque for letters and digits that
// alternate as in no human language; "" for ordinary words.
func wordShape(word string) string {
	if len(word) < 8 {
		return ""
	}
	digits := 0
	hex := 0
	turns := 0
	last := byte(0)
	for i := range len(word) {
		c := word[i]
		kind := byte('a')
		switch {
		case '0' <= c && c <= '9':
			kind = '0'
			digits++
			hex++
		case 'a' <= c && c <= 'f':
			hex++
		case 'A' <= c && c <= 'Z':
			kind = 'A'
			if c <= 'F' {
				hex++
			}
		case c == '-' || c == '_':
			kind = last
		}
		if kind != last && last != 0 {
			turns++
		}
		last = kind
	}
	switch n := len(word); {
	case digits == n:
		return "digits"
	case n == 36 && hex == 32 && word[8] == '-' && word[13] == '-' && word[18] == '-' && word[23] == '-':
		return "uuid"
	case n >= 12 && hex == n && digits > 0:
		return "hex"
	case n >= 16 && digits > 0 && turns >= 4:
		return "opaque"
	}
	return ""
}

// isOpaque reports whether a whole value, or base64, looks made up.
func isOpaque(text string) bool {
	if text == "" {
		return false
	}
	if t := wordAt(text, 0); t.end == len(text) {
		return t.shape != "word" || wordShape(text) != ""
	}
	return len(text) >= 16 && base64Pattern().MatchString(text) && wordShape(base64Word.Replace(text)) != ""
}

var (
	base64Pattern = phrase.Regexp(`^[A-Za-z0-9+/_-]+={0,2}$`)
	base64Word    = strings.NewReplacer("+", "a", "/", "b", "=", "")
)
