package mask

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
)

// What a pattern cannot tell, or not in a time that the bytes bound, a function looks for. rules.txt names them as look.

// login looks for a password in front of an '@': behind a name and a colon, with a sign, or with letters and digits
// and a host.
func (s *scan) login(at int) (from, to int) {
	data := s.data
	low := max(0, at-64)
	for from = at; from > low && inPassword[data[from-1]]; from-- {
	}
	if from == low || data[from-1] != ':' || at+1 == len(data) || !inAlnum[data[at+1]] && data[at+1] != '[' && data[at+1] != '_' {
		return 0, 0
	}
	name := from - 1
	for name > low && (inName[data[name-1]] || data[name-1] == '+') {
		name--
	}
	if !isLetter(data[name]) || name > low && strings.IndexByte(" \t\r\n\"'`=(,;<>{[", data[name-1]) < 0 {
		return 0, 0
	}
	secret := string(data[from:at])
	isMixed := at-from >= 4 && accepting["mixed"](s.rules, secret) && s.rules.patterns["host"]().Match(data[at+1:min(len(data), at+reach)])
	if !isMixed && !strings.ContainsAny(secret, "!$%^&*#?~") || !accepting["no-template"](s.rules, secret) {
		return 0, 0
	}
	return from, at
}

// dataSource looks for the password in front of "@tcp(", behind a name and a colon.
func (s *scan) dataSource(at int) (from, to int) {
	low := max(0, at-128)
	low += 1 + bytes.LastIndexAny(s.data[low:at], " \t\r\n\"'<>")
	for i := low + 1; i+1 < at; i++ {
		if s.data[i] == ':' && inName[s.data[i-1]] {
			if secret := s.data[i+1 : at]; accepting["no-template"](s.rules, string(secret)) {
				return i + 1, at
			}
			break
		}
	}
	return 0, 0
}

// multipart looks for the value of a field of a form: the line behind its head, which an empty line ends.
func (s *scan) multipart(at int) (from, to int) {
	data := s.data[:min(len(s.data), at+4*reach)]
	i := at + len("name=")
	i += run(data[:min(len(data), i+1)], i, inQuotes)
	end := i + run(data[:min(len(data), i+64)], i, inFormName)
	l := s.rules.levelOf(string(data[i:end]))
	if l < ifString {
		return 0, 0
	}
	i = end + run(data, end, inQuotes)
	if i < len(data) && data[i] == ';' {
		i = endOfLine(data[:min(len(data), i+reach/4)], i)
	}
	for range 8 {
		n := sizeOfLineEnd(data[i:])
		if i += n; n == 0 {
			return 0, 0
		}
		if n = sizeOfLineEnd(data[i:]); n > 0 { // an empty line
			from = i + n
			to = endOfLine(s.data[:min(len(s.data), from+64*reach)], from)
			begin, stop, _ := l.hides(s.rules, s.data[from:to])
			return from + begin, from + stop
		}
		header := run(data, i, inName)
		if i += header; header == 0 || i == len(data) || data[i] != ':' {
			return 0, 0
		}
		i = endOfLine(data, i)
	}
	return 0, 0
}

var (
	inQuotes   = setOf("\"'")
	inFormName = setOf(alnum + "_.[]-")
)

// endOfLine returns where a line ends, or the text.
func endOfLine(text []byte, at int) int {
	for {
		n := bytes.IndexAny(text[at:], "\n\r\\")
		if n < 0 {
			return len(text)
		}
		if at += n; sizeOfLineEnd(text[at:]) > 0 {
			return at
		}
		at++
	}
}

// sizeOfLineEnd returns the length of a line end at the beginning of a text, which may be escaped; or 0.
func sizeOfLineEnd(text []byte) int {
	for _, end := range []string{"\n", "\r\n", `\r\n`} {
		if len(text) >= len(end) && string(text[:len(end)]) == end {
			return len(end)
		}
	}
	return 0
}

// jwk looks for the private members of a JSON Web Key in a text that is no JSON as a whole: those of the braces around
// its type.
func (s *scan) jwk(at int) (from, to int) {
	if s.key.has(at) { // with another word of the same key
		return 0, 0
	}
	low := max(0, at-4*reach)
	begin := bytes.LastIndexAny(s.data[low:at], "{}")
	if begin < 0 {
		return 0, 0
	}
	begin += low
	end := min(len(s.data), at+4*reach)
	if n := bytes.IndexAny(s.data[at:end], "{}"); n >= 0 {
		end = at + n
	}
	s.key = stretch{begin, end}
	for _, found := range keyMember().FindAllSubmatchIndex(s.data[begin:end], -1) {
		s.edits = append(s.edits, s.hide(s.data, begin+found[2], begin+found[3], "jwk")...)
	}
	return 0, 0
}

var keyMember = lazily(`["'](?:d|p|q|dp|dq|qi|k)\\{0,7}["']\s*:\s*\\{0,7}["']([\w+/=-]{8,})`)

// besideID looks for the id of a key whose secret has no form but its length, and for the secret near it.
func (s *scan) besideID(at int) (from, to int) {
	data := s.data
	size := idOfKey(data[at:])
	if size == 0 {
		return 0, 0
	}
	from, to = at, at+size
	const near = 160
	secret := secretSizes[string(data[at:at+4])]
	end := min(len(data), to+near)
	for i := max(0, from-near); i < end; i++ {
		n := run(data[:end], i, inBase64)
		if n == secret && (i+n == len(data) || !inBase64[data[i+n]]) && (i == 0 || !inBase64[data[i-1]]) {
			if lower, upper, digits := makeup(data[i : i+n]); lower > 0 && upper > 0 && digits > 0 {
				s.edits = append(s.edits, s.hide(data, i, i+n, besideRule)...)
			}
		}
		i += n
	}
	return from, to
}

const besideRule = "secret-beside-id"

// secretSizes are the lengths of secrets, by the first bytes of the ids of their keys.
var secretSizes = map[string]int{"AKIA": 40, "ASIA": 40, "ABIA": 40, "ACCA": 40, "LTAI": 30, "AKID": 32}

// idOfKey returns the length of such an id at the beginning of a text; or 0.
func idOfKey(text []byte) int {
	if len(text) < 20 {
		return 0
	}
	size := run(text[:min(len(text), 64)], 0, inAlnum)
	isWhole := size == len(text) || text[size] != '_'
	switch prefix := string(text[:4]); {
	case !isWhole:
	case prefix == "LTAI" && size >= 20 && size <= 28 && looksGenerated(text[:size], 10),
		prefix == "AKID" && size >= 36 && size <= 40 && looksGenerated(text[:size], 10):
		return size
	case prefix == "LTAI" || prefix == "AKID" || secretSizes[prefix] == 0:
	case size == 20 && !bytes.ContainsFunc(text[:size], unicode.IsLower):
		return size
	}
	return 0
}

// pgpass looks for the password at the end of a line of a .pgpass file: host:port:database:user:password.
func (s *scan) pgpass(at int) (from, to int) {
	low := max(0, at-64)
	low += 1 + bytes.LastIndexAny(s.data[low:at], " \t\r\n")
	if !s.token.has(at) {
		s.token = stretch{at, at}
		for s.token.to < len(s.data) && !inBlanks[s.data[s.token.to]] {
			s.token.to++
		}
	}
	to = s.token.to
	parts := bytes.SplitN(s.data[low:to], []byte(":"), 5)
	if len(parts) < 5 || to < len(s.data) && s.data[to] != '\n' && s.data[to] != '\r' {
		return 0, 0
	}
	port := parts[1]
	if slices.ContainsFunc(parts, func(part []byte) bool { return len(part) == 0 }) || string(port) != "*" && run(port, 0, inDigits) < len(port) {
		return 0, 0
	}
	return to - len(parts[4]), to
}
