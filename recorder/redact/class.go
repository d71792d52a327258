package redact

// class is a set of bytes.
type class [256]bool

func classOf(members string) *class {
	var c class
	for i := 0; i < len(members); i++ {
		if i+2 < len(members) && members[i+1] == '-' {
			for b := int(members[i]); b <= int(members[i+2]); b++ {
				c[b] = true
			}
			i += 2
			continue
		}
		c[members[i]] = true
	}
	return &c
}

var (
	alnum      = classOf("A-Za-z0-9")
	hexa       = classOf("A-Fa-f0-9")
	upper      = classOf("A-Z0-9")
	word       = classOf("A-Za-z0-9_-")
	dotted     = classOf("A-Za-z0-9_.-")
	token      = classOf("A-Za-z0-9_.~+/=-")
	lowers     = classOf("a-z0-9")
	percent    = classOf("A-Za-z0-9_.~+/=%-")
	dollar     = classOf("A-Za-z0-9_.~+/=$-")
	unreserved = classOf("A-Za-z0-9_.~-")
	naming     = classOf("A-Za-z0-9_.-")
	plain      = negated(" \t\r\n\"'`,;&<>(){}[]\\|")
	host       = negated(" \t\r\n\"'`<>(){}[]\\|/?#,;")
)

func negated(members string) *class {
	c := classOf(members)
	for i := range c {
		c[i] = !c[i] && i > ' '
	}
	return c
}

// run returns how many bytes of b, from i on, are of the class.
func (c *class) run(b []byte, i int) int {
	n := i
	for n < len(b) && c[b[n]] {
		n++
	}
	return n - i
}

// nearby is how much of a run is looked at to tell what it is. Secrets may begin at many
// places of one run, and each looks at what follows: a peer that has a run without end
// would else keep the recorder busy for as long as it likes.
const nearby = 512

// longestName bounds a name.
const longestName = 256

// near is run, of what is nearby.
func (c *class) near(b []byte, i int) int { return c.run(b[:min(len(b), i+nearby)], i) }

// all returns how much all of a run is of which n bytes were seen.
func (c *class) all(b []byte, i, n int) int {
	if n < nearby {
		return n
	}
	return n + c.run(b, i+n)
}

// name returns how many bytes from a place on are a name's; -1: more than a name has.
func (t *text) name(i int) int {
	n := naming.run(t.b[:min(len(t.b), i+longestName)], i)
	if n == longestName {
		return -1
	}
	return n
}

// first returns where in b the first byte of the class is; -1: there is none.
func (c *class) first(b []byte) int {
	for i := range b {
		if c[b[i]] {
			return i
		}
	}
	return -1
}

// makeup counts the letters and digits of b.
func makeup(b []byte) (lower, upper, digits int) {
	for _, c := range b {
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

// looksRandom reports whether b looks like nobody's words: no blanks, no path, letters
// and digits mixed.
func looksRandom(b []byte, least int) bool {
	if len(b) < least || b[0] == '/' || b[0] == '.' {
		return false
	}
	for _, c := range b {
		if c <= ' ' || c == ':' && len(b) < 32 {
			return false
		}
	}
	lower, upper, digits := makeup(b)
	return digits >= 2 && lower+upper >= 2 || isTossed(b)
}

// isTossed reports whether the letters of b are of both cases in no order that a name in
// a program has: of keys that are random one in ten has one digit or none.
func isTossed(b []byte) bool {
	lower, upper, digits := makeup(b)
	if letters := lower + upper; len(b) < 16 || digits+letters < len(b)-len(b)/8 || 4*min(lower, upper) < letters {
		return false
	}
	starts := 0 // of capitals alone, as words in a name have
	for i := range b {
		if isUpper(b[i]) && i+1 < len(b) && isLower(b[i+1]) {
			starts++
		}
	}
	return digits > 0 || 4*starts <= 3*upper
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

func fold(c byte) byte { return c | 0x20 }
