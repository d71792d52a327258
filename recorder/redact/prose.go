package redact

import "bytes"

// proseWords stand behind the name of a secret in what only speaks of it.
var proseWords = setOf(`required optional needed mandatory string strings text str bytes byte int integer number boolean bool object array
	any never unknown void char varchar type types missing invalid incorrect wrong empty blank unset default hidden masked redacted
	removed enabled disabled expired changed changeme reset encrypted hashed plain plaintext protected private public value name
	field input prompt example sample placeholder yourself yours here there this that with from your mine failed failure error
	success accepted rejected denied matches matched mismatch provided stored generated random secure strong weak short simple
	basic digest bearer interactive vault file stdin keyring keychain environment manual automatic always never only`)

// saysMore are parts of what names a secret: of types, and of variables in programs.
var saysMore = []string{"pass", "secret", "token", "key", "cred", "user", "string", "config", "input", "option", "value", "hash", "field", "schema", "param"}

// isProse reports whether letters without a blank only speak of a secret, or name it in
// a program.
func isProse(v []byte) bool {
	low := bytes.ToLower(v)
	if proseWords[string(low)] {
		return true
	}
	for _, part := range saysMore {
		if bytes.Contains(low, []byte(part)) {
			return true
		}
	}
	return false
}

// isScrambled reports whether letters are of no word and of no name in a program: hardly
// a vowel, five consonants in a row, or capitals where no word begins.
func isScrambled(v []byte) bool {
	lower, upper, _ := makeup(v)
	if lower+upper < 8 || lower+upper < len(v)-len(v)/8 {
		return false
	}
	vowels, run, longest := 0, 0, 0
	for _, c := range v {
		if run++; bytes.IndexByte([]byte("aeiouyAEIOUY"), c) >= 0 {
			vowels, run = vowels+1, 0
		}
		longest = max(longest, run)
	}
	return longest >= 5 || 5*vowels < len(v) || upper >= 3 && lower >= 3 && lower+upper < 3*upper
}

// opens reports whether a name is of what itself opens something: of secrets names are
// told, too.
func opens(name []byte) bool {
	for _, suffix := range []string{"password", "passwd", "passphrase", "passcode", "pwd"} {
		if n := len(name) - len(suffix); n >= 0 && bytes.EqualFold(name[n:], []byte(suffix)) {
			return true
		}
	}
	return false
}
