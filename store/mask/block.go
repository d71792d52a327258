package mask

import (
	"bytes"
	"slices"
)

// block is a secret of several lines, as far as it has been read: a private key, or the data of a Kubernetes
// Secret. It may go on in the next piece of a text.
type block struct {
	isData    bool // of a Kubernetes Secret: it ends at a line that is not indented
	indent    int  // of isData: how far the name of the data is indented
	isOpen    bool // of isData: the line goes on
	mentioned bool // of a key: its BEGIN stands within a sentence, and no line of a key has followed
	base64    base64Run
	behind    int    // of a key: bytes since its last line that looks like one
	tail      []byte // of a key: the end of what was read, in which the mark of its END may have begun
}

const (
	keyGap  = 2 << 10 // so many bytes without a line of a key, and there is no key any more
	endMark = 80      // bytes of the longest mark of an END
)

// rule returns the name of the block's rule.
func (b *block) rule() string {
	if b.isData {
		return "kubernetes"
	}
	return "private-key"
}

// take reads on. The secret goes from from to to, and ends there or goes on behind data.
func (b *block) take(data []byte) (from, to int, ended bool) {
	if b.isData {
		return b.takeData(data)
	}
	next := bytes.Index(data, []byte("-----BEGIN"))
	if next < 0 {
		next = len(data)
	}
	end, ended := b.keyEnd(data[:next])
	if !ended {
		tail := append(b.tail, data[max(0, len(data)-endMark):]...)
		b.tail = bytes.Clone(tail[max(0, len(tail)-endMark):])
	}
	last, line := 0, 0 // the end of what looks like a key; where the current line begins
	for at, c := range data[:end] {
		switch isKey := b.base64.isKey(c); {
		case isKey && b.mentioned:
			b.mentioned = false
			from = line
			fallthrough
		case isKey:
			last = at + 1
			b.behind = 0
		default:
			b.behind++
		}
		if c == '\n' {
			line = at + 1
		}
		if b.behind > keyGap {
			return from, max(from, last), true
		}
	}
	switch isNext := !ended && next < len(data); {
	case b.mentioned:
		return end, end, ended || isNext
	case isNext: // another key begins, before this one has ended
		b.behind = keyGap + 1
		return from, max(from, last), true
	}
	return from, end, ended
}

// keyEnd returns where data has the end of a key.
func (b *block) keyEnd(data []byte) (end int, ended bool) {
	before := len(b.tail)
	text := data
	if before > 0 { // a mark may have begun there
		text = append(b.tail[:before:before], data[:min(len(data), endMark)]...)
		if end, ended = markOfEnd(text); ended && end > before {
			return end - before, true
		}
	}
	if end, ended = markOfEnd(data); ended {
		return end, true
	}
	return len(data), false
}

// markOfEnd returns the end of the first mark that ends a key.
func markOfEnd(text []byte) (end int, ok bool) {
	for _, mark := range []string{"---- END SSH2", "Private-MAC"} {
		if at := bytes.Index(text, []byte(mark)); at >= 0 {
			end, ok = at+len(mark), true
			text = text[:at]
		}
	}
	for at := 0; ; {
		n := bytes.Index(text[at:], []byte("-----END"))
		if n < 0 {
			return end, ok
		}
		at += n + len("-----END")
		rest := text[at:min(len(text), at+endMark)]
		if n := run(rest, 0, inArmor); bytes.HasPrefix(rest[n:], []byte("-----")) {
			return at + n + len("-----"), true
		}
	}
}

// base64Run is a run of bytes of base64, which may go on in the next piece.
type base64Run struct {
	size                 int
	lower, upper, digits bool
	isBehind             bool // something else stands before it in its line
}

// isKey takes the next byte, and reports whether it is in a run of at least 32 bytes that a program made, or ends a line
// that is one of base64 alone, as of a key in narrow lines.
func (r *base64Run) isKey(c byte) bool {
	switch {
	case c == '\r':
		return false
	case c == '\n':
		isAlone := !r.isBehind && r.size >= 8
		*r = base64Run{}
		return isAlone
	case !inBase64[c]:
		*r = base64Run{isBehind: true}
		return false
	case c >= 'a':
		r.lower = true
	case c >= 'A':
		r.upper = true
	case c >= '0' && c <= '9':
		r.digits = true
	}
	r.size++
	return r.size >= 32 && r.lower && r.upper && r.digits
}

// looksLikeKey reports whether a text has such a run.
func looksLikeKey(text []byte) bool {
	var r base64Run
	return slices.ContainsFunc(text, r.isKey)
}

// isKeyLine reports whether a piece is a line of a key and nothing else.
func isKeyLine(piece []byte) bool {
	line := bytes.TrimSpace(piece)
	return looksLikeKey(line) && run(line, 0, inBase64) == len(line)
}

// takeData is take of the data of a Kubernetes Secret: all lines that are indented.
func (b *block) takeData(data []byte) (from, to int, ended bool) {
	for to < len(data) {
		line := data[to:]
		n := bytes.IndexByte(line, '\n')
		if n >= 0 {
			line = line[:n+1]
		}
		isDeeper := run(line, 0, inIndent) > b.indent
		if !b.isOpen && !isDeeper && len(bytes.TrimSpace(line)) > 0 {
			return 0, len(bytes.TrimRight(data[:to], "\r\n")), true
		}
		b.isOpen = n < 0
		to += len(line)
	}
	return 0, len(bytes.TrimRight(data, "\r\n")), false
}

// beginOfKey returns the block of a private key whose BEGIN stands at the beginning of a text, and the length of the
// BEGIN.
func beginOfKey(text []byte) (*block, int) {
	n := 0
	switch {
	case bytes.HasPrefix(text, []byte("-----BEGIN")):
		n = len("-----BEGIN")
		n += run(text[:min(len(text), n+endMark)], n, inArmor)
		if !bytes.HasPrefix(text[n:], []byte("-----")) || !privateKey().Match(text[:n]) {
			return nil, 0
		}
		n += len("-----")
	case bytes.HasPrefix(text, []byte("---- BEGIN SSH2 ENC")):
		n = len("---- BEGIN SSH2 ENC")
	case bytes.HasPrefix(text, []byte("Private-Lines: ")):
		n = len("Private-Lines: ")
		if n += run(text, n, inDigits); n >= len(text) || text[n] != '\n' && text[n] != '\r' && text[n] != '\\' {
			return nil, 0
		}
	default:
		return nil, 0
	}
	line, _, _ := bytes.Cut(text[n:min(len(text), n+reach)], []byte("\n"))
	words := 0
	for word := range bytes.FieldsSeq(line) {
		if isWord(word) {
			words++
		}
	}
	return &block{mentioned: words >= 2 && !looksLikeKey(line)}, n
}

// privateKey matches the words of a mark, also in a URL.
var privateKey = lazily(`PRIVATE(?:[ +_]|%20)KEY(?:(?:[ +_]|%20)BLOCK)?$`)

// endOfKey returns the key whose END stands at a place of a text that has no BEGIN, as a page of a file: the lines of
// base64 before it.
func endOfKey(text []byte, at int) (from, to int) {
	n, ok := markOfEnd(text[at:min(len(text), at+2*endMark)])
	if !ok || !privateKey().Match(bytes.TrimRight(text[at:at+n], "-")) {
		return 0, 0
	}
	from = at
	for {
		end := withoutLineEnd(text, from)
		begin := end
		for begin > 0 && inBase64[text[begin-1]] {
			begin--
		}
		if begin > 0 && begin < end && text[begin-1] == '\\' { // the letter of an escape
			begin++
		}
		if end == from || begin == end || end-begin > 4*endMark {
			break
		}
		from = begin
	}
	if !looksLikeKey(text[from:at]) {
		return 0, 0
	}
	return from, at + n
}

// withoutLineEnd returns the end of the line before a place, without its line end, which may be escaped.
func withoutLineEnd(text []byte, at int) int {
	for at > 0 {
		switch c := text[at-1]; {
		case c == '\n' || c == '\r':
			at--
		case (c == 'n' || c == 'r') && at > 1 && text[at-2] == '\\':
			for at--; at > 0 && text[at-1] == '\\'; at-- {
			}
		default:
			return at
		}
	}
	return at
}

// mostOfManifest is how many lines may stand between the kind of a Kubernetes Secret and its data.
const mostOfManifest = 60

// manifest is a Kubernetes Secret in a text. Its names stand at one indent.
type manifest struct {
	text   []byte
	indent int
}

// isData reports whether a line has the name of data. The other results are whether it belongs to the manifest, and
// where the name ends.
func (m manifest) isData(begin, end int) (isData, belongs bool, nameEnd int) {
	line := bytes.TrimRight(m.text[begin:end], " \r")
	outer := run(line, 0, inIndent)
	if outer == m.indent && (bytes.Equal(line[outer:], []byte("data:")) || bytes.Equal(line[outer:], []byte("stringData:"))) {
		return true, true, begin + len(line)
	}
	return false, outer >= min(m.indent, len(line)) && (outer == len(line) || outer > m.indent || line[outer] != '-'), 0
}

// above returns where the name of the data ends that stands above a line; 0 if there is none.
func (m manifest) above(begin int) int {
	for k := 0; k < mostOfManifest && begin > 0; k++ {
		end := begin - 1
		first := max(0, end-reach)
		begin = first + 1 + bytes.LastIndexByte(m.text[first:end], '\n')
		isData, belongs, nameEnd := m.isData(begin, end)
		if isData {
			return nameEnd
		}
		if !belongs {
			break
		}
	}
	return 0
}

// below returns where the name of the data ends that stands below a place; 0 if there is none.
func (m manifest) below(at int) int {
	for range mostOfManifest {
		n := bytes.IndexByte(m.text[at:min(len(m.text), at+reach)], '\n')
		if n < 0 {
			return 0
		}
		at += n + 1
		end := min(len(m.text), at+reach)
		if n := bytes.IndexByte(m.text[at:end], '\n'); n >= 0 {
			end = at + n
		}
		isData, belongs, nameEnd := m.isData(at, end)
		if isData {
			return nameEnd
		}
		if !belongs {
			return 0
		}
	}
	return 0
}
