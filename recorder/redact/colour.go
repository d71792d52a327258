package redact

// escapeForms are how the byte stands that a terminal's control sequence begins with:
// itself, and as JSON and programs write it.
var escapeForms = []string{"\x1b", `\u001b`, `\u001B`, `\x1b`, `\x1B`, `\033`, `\e`}

// escapeText is the one that JSON has, folded.
var escapeText = folded(`\u001b`)

// maxColour bounds a control sequence.
const maxColour = 24

// colourBefore returns the length of the control sequence that ends at a place, as of
// a log in colours: ESC [ 3 2 m. What stands behind it begins a word.
func (t *text) colourBefore(at int) int {
	if last := t.before(at); last < '@' || last > '~' {
		return 0
	}
	for n := 1; n < maxColour; n++ {
		switch c := t.before(at - n); {
		case c == '[':
			return t.escapeOf(at-n-1, n+1)
		case c < ' ' || c > '?':
			return 0
		}
	}
	return 0
}

// escapeOf returns how long a control sequence is whose n last bytes stand behind a
// place, with the escape in front of them; 0: none is there.
func (t *text) escapeOf(at, n int) int {
	for _, form := range escapeForms {
		k := 0
		for k < len(form) && t.before(at-k) == form[len(form)-1-k] {
			k++
		}
		if k == len(form) {
			return n + k
		}
	}
	return 0
}

// adorned returns how much at a place only says how what comes looks: control sequences
// of a terminal, and what Markdown has around bold text.
func adorned(b []byte, i int) int {
	from := i
	for i < len(b) {
		switch n := colour(b[i:]); {
		case n > 0:
			i += n
		case b[i] == '*' && i-from < maxColour:
			i++
		default:
			return i - from
		}
	}
	return i - from
}

// colour returns the length of the control sequence that b begins with, as far as it is
// there.
func colour(b []byte) int {
	if b[0] != '\x1b' || len(b) > 1 && b[1] != '[' {
		return 0
	}
	for n := 2; n < len(b) && n < maxColour; n++ {
		switch c := b[n]; {
		case c >= '@' && c <= '~':
			return n + 1
		case c < ' ' || c > '?':
			return 0
		}
	}
	return min(len(b), maxColour)
}
