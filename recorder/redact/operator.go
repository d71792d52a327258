package redact

// operatorMarks are what stands in front of the = of an operator that assigns, in
// makefiles and programs: ::=, ?=, ||=, .=
const operatorMarks = ":?|.+"

var operatorMark = classOf(operatorMarks)

// longestOperator is :::=
const longestOperator = 4

// operator returns the length of such an operator at a place, but for := ; 0: there is
// none.
func operator(b []byte, i int) int {
	c, n := b[i], 1
	if !operatorMark[c] {
		return 0
	}
	for n < longestOperator && i+n < len(b) && b[i+n] == c {
		n++
	}
	if i+n >= len(b) || b[i+n] != '=' || n+1 > longestOperator || c == ':' && n == 1 {
		return 0
	}
	return n + 1
}

// unclearOperator reports whether what comes next says if one stands at a place.
func (t *text) unclearOperator(i int) bool {
	return !t.final && len(t.b)-i < longestOperator && operatorMark.run(t.b, i) == len(t.b)-i
}

// longestType bounds the name of a type between a name and its value.
const longestType = 24

// typed returns how much in front of the = of a value is a type behind a name and a
// blank, as Go has it: 0 if that is not there, -1 if what comes next says it.
func (t *text) typed(i int) int {
	n := goType.run(t.b[:min(len(t.b), i+longestType)], i)
	if n == 0 || n == longestType {
		return 0
	}
	rest := t.b[i+n:]
	switch {
	case len(rest) < len(" = ") && !t.final && string(rest) == " = "[:len(rest)]:
		return -1
	case len(rest) < len(" = ") || string(rest[:3]) != " = ":
		return 0
	}
	return n
}

// goType is what the name of a type has.
var goType = classOf("A-Za-z0-9_.*[]")

// called reports whether a name in quotes, of which each is so long, is the first
// argument of a call: set("TOKEN", "x").
func (t *text) called(from, quote int) bool { return t.before(from-quote) == '(' }
