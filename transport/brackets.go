package transport

// Brackets follows the brackets of JSON text from byte to byte, over pieces of any size. The zero value
// stands before the first byte. Of text that is no JSON, Depth may be below 0.
type Brackets struct {
	Depth   int
	InText  bool // within a string
	escaped bool
}

// Take goes on by a byte. It reports whether the byte closes the outermost bracket.
func (b *Brackets) Take(c byte) (closes bool) {
	switch {
	case b.escaped:
		b.escaped = false
	case b.InText:
		b.escaped = c == '\\'
		b.InText = c != '"'
	case c == '"':
		b.InText = true
	case c == '{', c == '[':
		b.Depth++
	case c == '}', c == ']':
		b.Depth--
		return b.Depth == 0
	}
	return false
}
