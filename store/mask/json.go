package mask

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// zone is a set of rules for a value.
type zone uint8

const (
	anyZone      zone = iota
	namelessZone      // names do not count: schemas, capabilities
	immuneZone        // nothing is a secret
)

// place is the context of a value.
type place struct {
	zone  zone
	level level // of its name
}

// walker looks at every value of a valid JSON text.
type walker struct {
	m       *Masker
	raw     []byte
	field   *field   // the place of the current value
	depth   int      // number of strings around this JSON
	lists   int      // number of lists directly around the current value
	path    []byte   // the JSON pointer of the current value, with '*' for elements
	members []member // of the objects around the current value
	related []related
	edits   []edit
}

// related is a value that others of its object make secret.
type related struct {
	from, to int
	level    level
	path     string // of the object
}

const (
	deepest       = 8  // levels of JSON within strings
	mostArguments = 64 // strings of a list that are looked at as one line
)

// walk looks at every value of the text. It looks at the related ones afterwards, the outermost first: a value is looked
// at twice at most, however deep it lies.
func (w *walker) walk(p place) {
	w.value(w.next(0), p)
	slices.SortStableFunc(w.related, func(a, b related) int { return cmp.Compare(a.from, b.from) })
	end := 0 // of what is secret as a whole
	for _, r := range w.related {
		if r.from < end {
			continue
		}
		isNested := w.raw[r.from] == '{' || w.raw[r.from] == '[' && bytes.ContainsAny(w.raw[r.from+1:r.to], "{[")
		switch {
		case r.level >= credential:
			end = r.to
		case isNested: // no text, and no list of texts
			continue
		}
		w.path = append(w.path[:0], r.path...)
		w.field = unknown
		w.value(r.from, place{level: r.level})
	}
}

// value looks at the value at i, and returns its end.
func (w *walker) value(i int, place place) (end int) {
	switch c := w.raw[i]; c {
	case '{':
		return w.object(i, place)
	case '[':
		return w.array(i, place)
	case '"':
		end = w.stringEnd(i)
		w.str(i, end, place)
		return end
	}
	end = i + run(w.raw, i, inNumber) // a number, true, false or null
	v := w.raw[i:end]
	isWhole := bytes.IndexByte(v, '.') < 0
	isLong := isWhole && (place.level == credential && len(v) >= 6 || place.level == ifDigits && len(v) >= 4)
	if v[0] <= '9' && (place.level >= password || isLong) {
		text := `"` + w.m.Placeholder(string(v)) + `"`
		w.edits = append(w.edits, edit{from: i, to: end, text: text, found: []Finding{{"name", w.reported()}}})
	}
	return end
}

// next returns the beginning of the next token, behind blanks and marks.
func (w *walker) next(i int) int {
	return i + run(w.raw, i, betweenTokens)
}

func (w *walker) stringEnd(i int) int {
	for i++; w.raw[i] != '"'; i++ {
		if w.raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// decode returns the text of the JSON string from i to end.
func (w *walker) decode(i, end int) []byte {
	if bytes.IndexByte(w.raw[i:end], '\\') < 0 {
		return w.raw[i+1 : end-1]
	}
	var s string
	_ = json.Unmarshal(w.raw[i:end], &s) // the text is valid
	return []byte(s)
}

func (w *walker) object(i int, p place) (end int) {
	switch {
	case p.level == everything:
	case p.level > harmless && w.m.rules.patterns["schema"]().Match(w.raw[i:]):
		p = place{zone: namelessZone}
	case p.level >= credential:
		p.level = everything
	default:
		p.level = harmless
	}
	outside := len(w.members)
	above, object, lists := len(w.path), w.field, w.lists
	w.lists = 0
	isInput := string(w.path) == "/result/inputRequests" // whose members the server names
	for i = w.next(i + 1); w.raw[i] != '}'; i = w.next(i) {
		nameEnd := w.stringEnd(i)
		name := w.m.rules.nameOf(w.decode(i, nameEnd))
		step := name.step
		if isInput {
			step = "*"
		}
		w.path = append(append(w.path, '/'), step...)
		w.field = object.below(step)
		c := place{zone: max(p.zone, w.field.zone)}
		switch {
		case p.level == everything, w.m.isUsersKey(name.text), w.m.pointers != nil && w.depth == 0 && w.m.pointers.Match(w.path):
			c.level = everything
		case name.isMeta:
			c.zone = immuneZone
		case name.isSchema:
			c.zone = max(c.zone, namelessZone)
		case c.zone == anyZone && !isInput:
			c.level = name.level
		}
		if c.zone == anyZone && (name.isSecret || w.m.hasOwn) {
			w.text(i, nameEnd, w.m.anyText([]byte(name.text)))
		}
		from := w.next(nameEnd)
		i = w.value(from, c)
		if p.zone == anyZone && p.level == harmless {
			w.members = append(w.members, member{name.relation, from, i})
		}
		w.path = w.path[:above]
		w.field = object
	}
	w.lists = lists
	w.relatives(w.members[outside:])
	w.members = w.members[:outside]
	return i + 1
}

// reported returns the path of the current value for a report; "" if there is none, for a path is as long as its value lies
// deep.
func (w *walker) reported() string {
	if w.m.report == nil {
		return ""
	}
	return string(w.path)
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// member is a member of an object.
type member struct {
	relation relation
	from, to int // where the value stands
}

// relatives hides members that are secret because of others in their object: a "pass" beside a
// "user", the "value" of a "name", the data of a Kubernetes Secret.
func (w *walker) relatives(members []member) {
	var levels [isValue + 1]level // by the relations of members
	isAny := false
	secret := 0 // the length of a secret whose id is a member
	for _, m := range members {
		v := w.raw[m.from:m.to]
		if v[0] == '"' && len(v) < 64 && idOfKey(v[1:len(v)-1]) == len(v)-2 && len(v) > 2 {
			secret = secretSizes[string(v[1:5])]
			isAny = true
		}
		switch {
		case m.relation == namesUser:
			levels[isPass] = password
		case m.relation == namesGrant:
			levels[isCode] = password
		case m.relation == namesKind && string(v) == `"Secret"`:
			levels[isData] = everything
		case (m.relation == namesValue || m.relation == isK) && v[0] == '"':
			levels[isValue] = max(levels[isValue], w.m.rules.nameOf(w.decode(m.from, m.to)).level)
		case m.relation == namesKeyType && v[0] == '"':
			levels[isKeyPart], levels[isK] = password, password
		default:
			continue
		}
		isAny = true
	}
	if !isAny {
		return
	}
	for _, m := range members {
		if secret > 0 && m.to-m.from == secret+2 && w.raw[m.from] == '"' && looksLikeKey(w.raw[m.from:m.to]) && run(w.raw, m.from+1, inBase64) == secret {
			w.related = append(w.related, related{m.from, m.to, password, w.reported()})
		}
		if l := levels[m.relation]; l > harmless {
			w.related = append(w.related, related{m.from, m.to, l, w.reported()})
		}
	}
}

// argument is a string of a list.
type argument struct {
	text     string
	from, to int // where it stands
}

func (w *walker) array(i int, p place) (end int) {
	above := len(w.path)
	list := w.field
	if above > 0 { // else it is a batch: each element is a message
		w.path = append(w.path, "/*"...)
		w.field = list.below("*")
	}
	var args []argument
	w.lists++
	for i = w.next(i + 1); w.raw[i] != ']'; i = w.next(i) {
		end := w.value(i, p)
		if w.raw[i] == '"' && p.zone == anyZone {
			args = append(args, argument{string(w.decode(i, end)), i, end})
		}
		i = end
	}
	if len(args) == 2 && strings.HasSuffix(string(w.path), "/auth/*") { // ["user","password"]
		w.str(args[1].from, args[1].to, place{level: password})
	}
	w.pairs(args)
	w.path = w.path[:above]
	w.field = list
	w.lists--
	var line []byte // as a command, in which an option may precede a password
	isSecret := false
	for k, a := range args {
		isOption := strings.HasPrefix(a.text, "-")
		if isSecret && !isOption {
			w.str(a.from, a.to, place{level: password})
		}
		isSecret = isOption && !strings.ContainsAny(a.text, "= ") && w.m.rules.levelOf(a.text) >= credential
		if k < mostArguments {
			line = append(append(line, a.text...), ' ')
		}
	}
	for _, e := range w.m.text(line) {
		at := 0 // where the argument stands in the line
		for k, a := range args[:min(len(args), mostArguments)] {
			rule := e.found[0].Rule
			if end := at + len(a.text); (k > 0 && rule == "command" || rule == besideRule) && e.from >= at && e.from < end {
				w.text(a.from, a.to, w.m.hide([]byte(a.text), e.from-at, len(a.text), rule))
			}
			at += len(a.text) + 1
		}
	}
	return i + 1
}

// pairs hides the values of names in a list: ["Authorization","…"] as an element of a list, or "Authorization","…"
// among others. A list of names has no values.
func (w *walker) pairs(args []argument) {
	for k := 1; k < len(args); k++ {
		name := args[k-1].text
		if len(name) > 64 || run([]byte(name), 0, inName) < len(name) || strings.HasPrefix(name, "-") {
			continue
		}
		l := w.m.rules.levelOf(name)
		if l < credential || w.m.rules.levelOf(args[k].text) > harmless {
			continue
		}
		value := []byte(args[k].text)
		from, to, ok := l.hides(w.m.rules, value)
		isPair := len(args) == 2 && w.lists > 1
		if !ok || !isPair && from == 0 && !looksGenerated(value, 10) {
			continue
		}
		w.text(args[k].from, args[k].to, w.m.hide(value, from, to, "name"))
		k++
	}
}

// str looks at the string from i to end, with its quotes.
func (w *walker) str(i, end int, p place) {
	if end-i <= 2 || p.zone == immuneZone && p.level < everything {
		return
	}
	text := w.decode(i, end)
	if from, to, ok := p.level.hides(w.m.rules, text); ok {
		w.text(i, end, w.m.hide(text, from, to, "name"))
		return
	}
	first := text[run(text, 0, inBlanks):]
	if len(first) > 1 && (first[0] == '{' || first[0] == '[' || first[0] == '"') && w.depth < deepest && transport.Valid(text) {
		inner := walker{m: w.m, raw: text, field: unknown, depth: w.depth + 1}
		inner.walk(place{zone: p.zone})
		w.text(i, end, inner.edits)
		return
	}
	w.text(i, end, w.m.anyText(text))
}

// text replaces the string from i to end by its edited text.
func (w *walker) text(i, end int, edits []edit) {
	if len(edits) == 0 {
		return
	}
	masked, found := apply(w.decode(i, end), edits)
	path := w.reported()
	for k := range found {
		found[k].Path = path
	}
	w.edits = append(w.edits, edit{from: i, to: end, text: string(store.EncodePayload(string(masked))), found: found})
}
