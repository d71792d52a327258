package mask

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport/mcp"
)

// level is how secret a name makes its value: the least secret value that is masked.
type level uint8

const (
	harmless   level = iota
	ifKey            // a string that looks like a generated key is
	ifRandom         // a string that looks random is, but no UUID
	ifDigits         // four digits or more are
	ifString         // any string is, but no number and no plain word
	credential       // so is a long number
	password         // any string and any number is
	everything       // everything below is: the user says so, or a name above
)

// cut returns the words of a name in lower case, divided by separators and capitals, without
// words at its end about the form of the value.
func (t *ruleTable) cut(name string) []string {
	isCapital := func(c byte) bool { return c >= 'A' && c <= 'Z' }
	var spaced []byte
	for i := range len(name) {
		startsWord := i > 0 && (!isCapital(name[i-1]) || i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z')
		if isCapital(name[i]) && startsWord { // myKey, APIKey
			spaced = append(spaced, ' ')
		}
		spaced = append(spaced, name[i])
	}
	words := strings.FieldsFunc(strings.ToLower(string(spaced)), func(r rune) bool { return r < 0x80 && !isAlnum(r) })
	for n := len(words); n > 1 && t.levels[words[n-2]+words[n-1]] == harmless; n-- { // but "connection string"
		if last := words[n-1]; !t.words["form"][last] && strings.Trim(last, "0123456789") != "" {
			break
		}
		words = words[:n-1]
	}
	if n := len(words); n > 0 {
		numbered := strings.TrimRight(words[n-1], "0123456789")
		if len(numbered) >= 4 { // password2, but not sha256 or -pw1, an option with its value
			words[n-1] = numbered
		}
	}
	return words
}

// name is what the table says of a name.
type name struct {
	text     string
	step     string // of a JSON pointer
	level    level  // of its value
	isSecret bool   // the name itself has a secret, as where a key is a member's name
	isMeta   bool   // it is the protocol's own metadata
	isSchema bool   // it names a schema
	relation relation
}

// relation says how a member makes others of its object secret, or by which it becomes secret itself.
type relation uint8

const (
	unrelated    relation = iota
	namesUser             // makes isPass secret
	namesGrant            // makes isCode secret
	namesKind             // makes isData secret, if it is the kind of a Kubernetes Secret
	namesValue            // says how secret isValue is
	namesKeyType          // makes isKeyPart and isK secret: a JSON Web Key
	isK                   // of a JSON Web Key; or it is as namesValue
	isKeyPart
	isPass
	isCode
	isData
	isValue
)

// relations are those of names in small letters. The words of a user are in the table.
var relations = map[string]relation{
	"grant_type": namesGrant, "kind": namesKind, "name": namesValue, "key": namesValue, "header": namesValue, "variable": namesValue,
	"field": namesValue, "param": namesValue, "parameter": namesValue, "attribute": namesValue, "property": namesValue, "option": namesValue, "setting": namesValue,
	"kty": namesKeyType, "k": isK, "d": isKeyPart, "p": isKeyPart, "q": isKeyPart, "dp": isKeyPart, "dq": isKeyPart, "qi": isKeyPart,
	"pass": isPass, "pw": isPass, "code": isCode, "data": isData, "stringdata": isData, "value": isValue, "val": isValue, "v": isValue,
}

// nameOf returns what the table says of a name. The few names of a session come again and again, so what is
// said of short ones is kept.
func (t *ruleTable) nameOf(text []byte) *name {
	if len(text) > 64 {
		return t.findName(string(text))
	}
	at := &t.names[maphash.Bytes(nameSeed, text)%uint64(len(t.names))]
	known := at.Load()
	if known == nil || known.text != string(text) {
		known = t.findName(string(text))
		at.Store(known)
	}
	return known
}

var nameSeed = maphash.MakeSeed()

func (t *ruleTable) findName(text string) *name {
	n := name{
		text: text, step: pointerEscaper.Replace(text), level: t.findLevel(text),
		isMeta: strings.HasPrefix(text, mcp.MetaPrefix), isSchema: strings.HasSuffix(text, "Schema"),
	}
	if plain := plainOf([]byte(text)); plain != nil {
		n.level = max(n.level, t.findLevel(string(plain.data)))
	}
	lower := strings.ToLower(text)
	if n.relation = relations[lower]; t.words["user"][lower] {
		n.relation = namesUser
	}
	bare := Masker{rules: t}
	n.isSecret = len(text) >= 12 && len(bare.anyText([]byte(text))) > 0
	return &n
}

// levelOf returns the level of a name.
func (t *ruleTable) levelOf(text string) level { return t.nameOf([]byte(text)).level }

func (t *ruleTable) findLevel(name string) level {
	w := t.cut(name[max(0, len(name)-96):])
	if len(w) == 0 || name == "PWD" || name == "OLDPWD" { // the working directory
		return harmless
	}
	last, before := w[len(w)-1], ""
	if len(w) > 1 {
		before = w[len(w)-2]
	}
	single, plural := strings.CutSuffix(last, "s")
	for n := min(3, len(w)); n > 0; n-- { // "recovery_code" as "recoverycode"
		phrase := strings.Join(w[len(w)-n:len(w)-1], "") + single
		if l := t.levels[phrase]; l > harmless && (len(w) == n || !t.words["alone"][phrase]) && !(n == 2 && phrase == "sessionid") {
			return l
		}
	}
	noun, stem := "", ""
	for _, n := range []string{"token", "key"} {
		if s, ok := strings.CutSuffix(single, n); ok {
			noun = n
			stem = cmp.Or(s, before)
		}
	}
	switch {
	case noun == "token" && t.words["counted-token"][stem], noun == "key" && (stem == "" || t.words["open-key"][stem]):
		return harmless
	case noun == "token" && plural: // a number is a count
		return ifString
	case noun == "token", noun == "key" && t.words["opening-key"][stem]:
		return credential
	case noun == "key" && t.words["vendor"][stem]:
		return ifKey
	case noun == "key":
		return ifRandom
	case last == "pass" && before != "" && !t.words["innocent-pass"][before]:
		return credential
	}
	if t.words["foreign"][single] || t.words["foreign"][last] {
		return password
	}
	for _, suffix := range []string{"password", "passwd", "passphrase", "secret", "passwort"} {
		if strings.HasSuffix(single, suffix) {
			return password
		}
	}
	if t.words["descriptive"][last] && !(last == "id" && (before == "client" || before == "access")) {
		return harmless
	}
	for _, word := range w {
		if t.words["vendor"][word] || word == "secret" || word == "password" || strings.HasPrefix(word, "credential") {
			return ifKey
		}
	}
	return harmless
}

// The longest value that is a template or a word, and the longest key that a program made, in bytes.
const (
	longestJudged    = 400
	longestGenerated = 400
)

// hides returns the secret part of a string with a level, behind the scheme of a credential.
func (l level) hides(t *ruleTable, v []byte) (from, to int, ok bool) {
	if l == harmless {
		return 0, 0, false
	}
	if i := bytes.IndexAny(v[:min(len(v), 20)], " \t"); i > 0 && l < everything && t.words["scheme"][strings.ToLower(string(v[:i]))] {
		from = i + 1
	}
	rest := v[from:]
	if len(rest) > longestJudged { // no word, no template and no key of a vendor
		return from, len(v), l >= ifString
	}
	switch {
	case len(rest) == 0 || placeholder().Match(rest):
		return 0, 0, false
	case l == everything:
		return from, len(v), true
	case t.patterns["template"]().Match(rest), t.words["empty"][strings.ToLower(string(rest))],
		l <= credential && from == 0 && isWord(rest):
		return 0, 0, false
	case l == ifDigits:
		lower, upper, digits := makeup(rest)
		return from, len(v), digits >= 4 && lower+upper == 0
	case l == ifKey:
		return from, len(v), looksGenerated(rest, 12)
	case l == ifRandom:
		return from, len(v), from > 0 && len(rest) >= 8 || looksGenerated(rest, 16) && !t.patterns["uuid"]().Match(rest)
	}
	return from, len(v), true
}

// EnvValues returns the secret values in an environment ("NAME=value"): of the given names,
// and of names with a secret sound.
func EnvValues(environ, names []string) []string {
	var values []string
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		_, _, secret := readRules().levelOf(name).hides(readRules(), []byte(value))
		_, _, digits := makeup([]byte(value))
		if slices.Contains(names, name) || secret && len(value) >= 8 && value[0] != '/' && (digits > 0 || len(value) >= 12) {
			values = append(values, value)
		}
	}
	return values
}

func makeup(data []byte) (lower, upper, digits int) {
	for _, c := range data {
		switch {
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= '0' && c <= '9':
			digits++
		}
	}
	return lower, upper, digits
}

// isWord reports whether data is a word in small letters, or several with '-' between them.
func isWord(data []byte) bool {
	lower, _, _ := makeup(data)
	return lower > 0 && len(data) <= 24 && lower+bytes.Count(data, []byte("-")) == len(data) && !isTossed(data)
}

// looksGenerated reports whether v looks like a key from a program: random letters and digits,
// perhaps in groups; not joined words, an address or a time.
func looksGenerated(v []byte, least int) bool {
	if len(v) < least || len(v) > longestGenerated || v[0] == '/' || v[0] == '.' || run(v, 0, inKey) < len(v) {
		return false
	}
	if n := bytes.IndexByte(v, ':'); n >= 0 { // an id in front of the key, or two halves
		return n >= 6 && run(v, 0, inHex) >= n && (len(v) == 2*n+1 && run(v, n+1, inHex) == n || looksGenerated(v[n+1:], least))
	}
	for part := range bytes.FieldsFuncSeq(v, func(r rune) bool { return !isAlnum(r) }) {
		if lower, upper, digits := makeup(part); len(part) >= 8 && lower+upper >= 2 && digits >= 2 {
			return true
		}
	}
	return isTossed(v)
}

// isTossed reports whether the letters of data form neither a word nor a name in a program: mixed
// cases without order, or hardly a vowel. One random key in ten has hardly a digit.
func isTossed(data []byte) bool {
	lower, upper, digits := makeup(data)
	letters := lower + upper
	if len(data) < 10 || letters+digits < len(data)-len(data)/8 {
		return false
	}
	starts, vowels := 0, 0 // starts: capitals that begin a word
	for i, c := range data {
		if c >= 'A' && c <= 'Z' && i+1 < len(data) && data[i+1] >= 'a' && data[i+1] <= 'z' {
			starts++
		}
		if strings.IndexByte("aeiouyAEIOUY", c) >= 0 {
			vowels++
		}
	}
	return 5*min(lower, upper) > letters && 4*starts <= 3*upper || 5*vowels < letters && 2*digits < letters
}
