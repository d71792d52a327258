package mask

import (
	"bytes"
	"encoding/json"
	"strings"
)

// zone says which rules hold for a value.
type zone uint8

const (
	anyZone      zone = iota
	namelessZone      // names make no secret: schemas, capabilities
	immuneZone        // nothing is a secret
)

// place is where a value stands, and what that says of it.
type place struct {
	zone  zone
	level level // what its name promises
}

// walker looks at every value of one JSON text, which is known to be valid.
type walker struct {
	m      *Masker
	raw    []byte
	fields map[string]zone // by their paths
	depth  int             // how many strings this JSON is within
	path   []byte          // the JSON pointer of the value that is looked at, with '*' for elements
	edits  []edit
}

const (
	deepest       = 8  // levels of JSON within strings
	mostArguments = 64 // strings of a list that is looked at as a command line
)

// child returns the place of a member, whose pointer is the walker's path.
func (w *walker) child(p place, name string) place {
	c := place{zone: max(p.zone, w.fields[string(w.path)])}
	switch {
	case p.level == everything, w.m.isUsersKey(name), w.m.pointers != nil && w.depth == 0 && w.m.pointers.Match(w.path):
		c.level = everything
	case strings.HasPrefix(name, "io.modelcontextprotocol/"): // the protocol's own metadata
		c.zone = immuneZone
	case strings.HasSuffix(name, "Schema"):
		c.zone = max(c.zone, namelessZone)
	case c.zone == anyZone:
		c.level = w.m.rules.levelOf(name)
	}
	return c
}

// value looks at the value at i, and returns where it ends.
func (w *walker) value(i int, p place) (end int) {
	switch c := w.raw[i]; c {
	case '{':
		return w.object(i, p)
	case '[':
		return w.array(i, p)
	case '"':
		end = w.stringEnd(i)
		w.str(i, end, p)
		return end
	}
	end = i + run(w.raw, i, alnum+"+.-") // a number, true, false or null
	if v := w.raw[i:end]; v[0] <= '9' && p.level.hidesNumber(v) {
		w.edits = append(w.edits, edit{from: i, to: end, text: `"` + w.m.Placeholder(string(v)) + `"`, rules: []string{"name"}, path: string(w.path)})
	}
	return end
}

// next returns where the next token begins, behind blanks and marks.
func (w *walker) next(i int) int {
	for i < len(w.raw) && strings.IndexByte(" \t\r\n,:", w.raw[i]) >= 0 {
		i++
	}
	return i
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
	_ = json.Unmarshal(w.raw[i:end], &s) // valid, as the whole is
	return []byte(s)
}

// schema is how a JSON schema begins, which is no secret even as the member "password".
var schema = lazily(`^\{[^{}]{0,200}"(?:type"\s*:\s*"(?:string|number|integer|boolean|object|array|null|word)"|(?:anyOf|oneOf|allOf|type)"\s*:\s*\[|\$ref")`)

func (w *walker) object(i int, p place) (end int) {
	switch {
	case p.level == everything:
	case p.level > harmless && schema().Match(w.raw[i:]):
		p = place{zone: namelessZone}
	case p.level >= credential:
		p.level = everything
	default:
		p.level = harmless
	}
	var members []part
	above := len(w.path)
	for i = w.next(i + 1); w.raw[i] != '}'; i = w.next(i) {
		nameEnd := w.stringEnd(i)
		name := string(w.decode(i, nameEnd))
		if part := pointerEscaper.Replace(name); string(w.path) == "/result/inputRequests" { // by names of the server's own
			w.path = append(w.path, "/*"...)
		} else {
			w.path = append(append(w.path, '/'), part...)
		}
		c := w.child(p, name)
		if c.zone == anyZone && len(name) >= 12 { // a key as a name
			w.text(i, nameEnd, w.m.anyText([]byte(name)))
		}
		from := w.next(nameEnd)
		i = w.value(from, c)
		if p.zone == anyZone && p.level == harmless {
			members = append(members, part{strings.ToLower(name), from, i})
		}
		w.path = w.path[:above]
	}
	w.relatives(members)
	return i + 1
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// part is a member of an object, by its name in small letters, or a string of a list.
type part struct {
	text     string
	from, to int // where the value stands
}

// relatives hides what the members of one object give away together: a "pass" beside a
// "user", the "value" of a "name", the data of a Kubernetes Secret.
func (w *walker) relatives(members []part) {
	hasUser, isSecret, isGrant, named := false, false, false, harmless
	for _, m := range members {
		switch m.text {
		case "name", "key", "header", "variable":
			if w.raw[m.from] == '"' {
				named = w.m.rules.levelOf(string(w.decode(m.from, m.to)))
			}
		case "grant_type":
			isGrant = true
		case "kind":
			isSecret = string(w.raw[m.from:m.to]) == `"Secret"`
		}
		hasUser = hasUser || w.m.rules.words["user"][m.text]
	}
	for _, m := range members {
		switch {
		case hasUser && (m.text == "pass" || m.text == "pw"), isGrant && m.text == "code":
			w.value(m.from, place{level: password})
		case isSecret && (m.text == "data" || m.text == "stringdata"):
			w.value(m.from, place{level: everything})
		case named > harmless && m.text == "value":
			w.value(m.from, place{level: named})
		}
	}
}

func (w *walker) array(i int, p place) (end int) {
	above := len(w.path)
	if above > 0 { // else it is a batch: each element is a message
		w.path = append(w.path, "/*"...)
		p.zone = max(p.zone, w.fields[string(w.path)])
	}
	var args []part
	for i = w.next(i + 1); w.raw[i] != ']'; i = w.next(i) {
		end := w.value(i, p)
		if w.raw[i] == '"' && p.zone == anyZone && len(args) < mostArguments {
			args = append(args, part{string(w.decode(i, end)), i, end})
		}
		i = end
	}
	if len(args) == 2 && strings.HasSuffix(string(w.path), "/auth/*") { // ["user","password"]
		w.str(args[1].from, args[1].to, place{level: password})
	}
	w.path = w.path[:above]
	w.commandLine(args)
	return i + 1
}

// commandLine hides the password of a command whose arguments stand in a list: behind an
// option whose name says so, or where the rules of commands find one.
func (w *walker) commandLine(args []part) {
	var line []byte
	isSecret := false
	for _, a := range args {
		isOption := strings.HasPrefix(a.text, "-")
		if isSecret && !isOption {
			w.str(a.from, a.to, place{level: password})
		}
		isSecret = isOption && !strings.ContainsAny(a.text, "= ") && w.m.rules.levelOf(a.text) >= credential
		line = append(append(line, a.text...), ' ')
	}
	for _, found := range w.m.text(line) {
		at := 0 // where the argument stands in the line
		for k, a := range args {
			if end := at + len(a.text); k > 0 && found.rules[0] == "command" && found.from >= at && found.from < end {
				w.text(a.from, a.to, []edit{w.m.hide([]byte(a.text), found.from-at, len(a.text), "command")})
			}
			at += len(a.text) + 1
		}
	}
}

// str looks at a string, which stands with its quotes from i to end.
func (w *walker) str(i, end int, p place) {
	if end-i <= 2 || p.zone == immuneZone && p.level < everything {
		return
	}
	text := w.decode(i, end)
	if from, to, ok := p.level.hides(w.m.rules, text); ok {
		w.text(i, end, []edit{w.m.hide(text, from, to, "name")})
		return
	}
	first := bytes.TrimLeft(text, " \t\r\n")
	switch {
	case len(first) > 1 && strings.IndexByte(`{["`, first[0]) >= 0 && w.depth < deepest && json.Valid(text):
		inner := walker{m: w.m, raw: text, depth: w.depth + 1}
		inner.value(inner.next(0), place{zone: p.zone})
		w.text(i, end, inner.edits)
	default:
		w.text(i, end, w.m.anyText(text))
	}
}

// text replaces the string from i to end by what the edits make of its text.
func (w *walker) text(i, end int, edits []edit) {
	if len(edits) == 0 {
		return
	}
	var rules []string
	masked := apply(w.decode(i, end), edits, func(e edit) { rules = append(rules, e.rules...) })
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(string(masked)) // a string can always be encoded
	w.edits = append(w.edits, edit{from: i, to: end, text: strings.TrimSuffix(b.String(), "\n"), rules: rules, path: string(w.path)})
}
