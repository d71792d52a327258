package redact

import "bytes"

// Some servers escape every quote in a string, as \u0022, and what else the web may take
// amiss. Behind such an escape anything may hide; but a frame without them that says the
// same is known to have no secret as quickly as any other, and then this one has none.

var needlessEscape = []byte(`\u00`)

// unescape returns JSON with its escapes of printable ASCII undone, in t's memory.
func (t *text) unescape(b []byte) []byte {
	out, done := t.plain[:0], 0
	for from := 0; ; {
		i := bytes.Index(b[from:], needlessEscape)
		if i < 0 {
			break
		}
		at := from + i
		from = at + len(needlessEscape)
		c, ok := escapedASCII(b[from:])
		if !ok || isEscaped(b, at) {
			continue
		}
		if out = append(out, b[done:at]...); c == '"' || c == '\\' {
			out = append(out, '\\')
		}
		out = append(out, c)
		from += 2
		done = from
	}
	out = append(out, b[done:]...)
	if t.plain = out; cap(out) > clearLimit {
		t.plain = nil
	}
	return out
}

// escapedASCII reads the last two digits of an escape, if it is that of a character that
// is printed.
func escapedASCII(b []byte) (c byte, ok bool) {
	if len(b) < 2 || b[0] < '2' || b[0] > '7' || !hexa[b[1]] {
		return 0, false
	}
	c = b[1] & 0xf
	if b[1] > '9' {
		c += 9
	}
	c |= b[0] << 4
	return c, c != 0x7f
}

// isEscaped reports whether a backslash is one of text: another stands for it.
func isEscaped(b []byte, at int) bool {
	n := 0
	for at > n && b[at-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// isComposed reports whether a frame is an object or an array.
func isComposed(b []byte) bool {
	first := bytes.TrimLeft(b, " \t\r\n")
	return len(first) > 0 && (first[0] == '{' || first[0] == '[')
}
