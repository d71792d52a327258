package mask

import (
	"bytes"
	"cmp"
	"strings"
)

// level says what the name of a value promises: from which values on it is a secret.
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

// cut returns the words of a name, which its separators and its case divide, in lower case,
// without those at its end that only tell the form of the value.
func (t *ruleTable) cut(name string) []string {
	isCapital := func(c byte) bool { return c >= 'A' && c <= 'Z' }
	var spaced []byte
	for i := range len(name) {
		isHump := i > 0 && isCapital(name[i]) && (!isCapital(name[i-1]) || i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z') // myKey, APIKey
		if isHump {
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
	return words
}

// levelOf returns what a name promises.
func (t *ruleTable) levelOf(name string) level {
	w := t.cut(name[max(0, len(name)-96):])
	if len(w) == 0 || name == "PWD" || name == "OLDPWD" { // the working directory
		return harmless
	}
	last, before := w[len(w)-1], ""
	if len(w) > 1 {
		before = w[len(w)-2]
	}
	single, plural := strings.CutSuffix(last, "s")
	if strings.HasSuffix(single, "s") || last == "pass" || last == "keys" && before == "" {
		single, plural = last, false
	}
	for n := min(3, len(w)); n > 0; n-- { // "recovery_code" as "recoverycode"
		phrase := strings.Join(w[len(w)-n:len(w)-1], "") + single
		if l := t.levels[phrase]; l > harmless && (len(w) == n || !t.words["alone"][phrase]) && !(n == 2 && phrase == "sessionid") {
			return l
		}
	}
	noun, stem := "", ""
	for _, n := range []string{"token", "key"} {
		if s, ok := strings.CutSuffix(single, n); ok {
			noun, stem = n, cmp.Or(s, before)
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

// hides returns the part of a string that is secret by the level of its name: without the
// scheme in front of a credential.
func (l level) hides(t *ruleTable, v []byte) (from, to int, ok bool) {
	if l == harmless {
		return 0, 0, false
	}
	if i := bytes.IndexByte(v, ' '); i > 0 && i < 20 && l < everything && t.words["scheme"][strings.ToLower(string(v[:i]))] {
		from = i + 1
	}
	rest := v[from:]
	switch {
	case len(rest) == 0 || placeholder().Match(rest):
		return 0, 0, false
	case l == everything:
		return from, len(v), true
	case template().Match(rest), t.words["empty"][strings.ToLower(string(rest))], l <= credential && from == 0 && isWord(rest):
		return 0, 0, false
	case l == ifDigits:
		lower, upper, digits := makeup(rest)
		return from, len(v), digits >= 4 && lower+upper == 0
	case l == ifKey:
		return from, len(v), looksGenerated(rest, 12)
	case l == ifRandom:
		return from, len(v), from > 0 && len(rest) >= 8 || looksGenerated(rest, 16) && !uuid().Match(rest)
	}
	return from, len(v), true
}

// hidesNumber says it of a number.
func (l level) hidesNumber(v []byte) bool {
	isWhole := bytes.IndexByte(v, '.') < 0
	return l >= password || l == credential && isWhole && len(v) >= 6 || l == ifDigits && isWhole && len(v) >= 4
}

// isUsersKey reports whether a name is one of those the user gave.
func (m *Masker) isUsersKey(name string) bool {
	return m.keys != nil && len(m.keys.FindString(name)) == len(name)
}
