package redact

import (
	"bytes"
	"encoding/base64"
)

// escaped stands for what JSON escapes without need: it must be taken apart.
func escaped(t *text, at int) verdict {
	if !t.raw {
		return no
	}
	if next := t.b[at:]; len(next) >= 6 && next[1] == 'u' {
		switch string(next[4:6]) {
		case "3c", "3C", "3e", "3E": // < and >, as encoders for the web have them
			return no
		case "26": // &, in front of a parameter or not
			if n := naming.run(next, 6); 6+n < len(next) && next[6+n] != '=' {
				return no
			}
		}
	}
	t.resume, t.needless = at+1, true
	return hit
}

// escapedOn reports whether an escape stands at a place where a secret seems to end: it
// may go on behind it, and must be taken apart.
func (t *text) escapedOn(i, resume int) verdict {
	switch next := t.b[i:]; {
	case !t.raw || len(next) == 0 || next[0] != '\\':
		return no
	case len(next) == 1 && !t.final:
		return more
	case len(next) > 1 && (next[1] == '/' || next[1] == 'u' || next[1] == '\\'):
		t.resume = resume
		return hit
	}
	return no
}

// exactly matches a value, which may stand in another form.
func exactly(value, form string) matcher {
	return func(t *text, at int) verdict {
		b := t.b[at:]
		if len(b) < len(form) {
			if !t.final && string(b) == form[:len(b)] {
				return more
			}
			return no
		}
		if string(b[:len(form)]) != form {
			return no
		}
		return t.add(span{from: at, to: at + len(form), rule: "value", secret: value})
	}
}

// bearer is a credential after its scheme.
func bearer(t *text, at int) verdict {
	const scheme = len("bearer ")
	if t.goesOn(at, alnum) {
		return no
	}
	n := token.run(t.b, at+scheme)
	if at+scheme+n == len(t.b) && !t.final {
		return more
	}
	v := bytes.TrimRight(t.b[at+scheme:at+scheme+n], ".")
	if _, _, digits := makeup(v); len(v) < 8 || digits == 0 && len(v) < 24 && !isTossed(v) {
		return no
	}
	return t.found("bearer", at+scheme, at+scheme+len(v))
}

// basic is a name and a password in base64.
func basic(t *text, at int) verdict {
	const scheme = len("basic ")
	if t.goesOn(at, alnum) {
		return no
	}
	n := token.run(t.b, at+scheme)
	if at+scheme+n == len(t.b) && !t.final {
		return more
	}
	v := bytes.TrimRight(t.b[at+scheme:at+scheme+n], ".")
	if !isBasic(v) {
		return no
	}
	return t.found("basic", at+scheme, at+scheme+len(v))
}

// isBasic reports whether v is the base64 of a name, a colon and a password.
func isBasic(v []byte) bool {
	b, err := base64.RawStdEncoding.DecodeString(string(bytes.TrimRight(v, "=")))
	if err != nil || len(b) < 3 || bytes.IndexByte(b, ':') < 0 {
		return false
	}
	for _, c := range b {
		if c < ' ' {
			return false
		}
	}
	return true
}

// webToken is a JSON web token: three parts or five.
func webToken(t *text, at int) verdict {
	if string(t.b[at:at+3]) != "eyJ" || t.goesOn(at, word) {
		return no
	}
	if n := word.run(t.b[:min(len(t.b), at+10)], at); n < 10 && at+n < len(t.b) {
		return no
	}
	n := dotted.run(t.b, at)
	if at+n == len(t.b) && !t.final {
		return more
	}
	v := t.b[at : at+n]
	if dots := bytes.Count(v, []byte(".")); dots < 2 || len(v) < 24 || bytes.IndexByte(v, '.') < 10 {
		return no
	}
	if bytes.HasSuffix(v, []byte(".")) && bytes.Count(v, []byte(".")) > 2 {
		v = v[:len(v)-1]
	}
	return t.found("jwt", at, at+len(v))
}

// pemLabel is how far the label of a PEM block is looked for.
const pemLabel = 64

// block is a PEM block with a private key.
func block(t *text, at int) verdict {
	b := t.b[at:]
	head := b[:min(len(b), pemLabel)]
	private := bytes.Index(head, []byte("PRIVATE KEY"))
	if private < 0 {
		if len(b) < pemLabel && !t.final && bytes.Count(b, []byte("-----")) < 2 {
			return more
		}
		return no
	}
	end := bytes.Index(b, []byte("-----END"))
	if end >= 0 {
		rest := b[end+len("-----END"):]
		if i := bytes.Index(rest[:min(len(rest), pemLabel)], []byte("-----")); i >= 0 {
			return t.found("private-key", at, at+end+len("-----END")+i+len("-----"))
		}
	}
	if !t.final {
		return more
	}
	t.block = true
	return t.found("private-key", at, len(t.b))
}

// address is a URL: its password is a secret, or what stands for name and password.
func address(t *text, at int) verdict {
	if !alnum[t.before(at)] {
		return no
	}
	from := at + len("://")
	n := host.run(t.b, from)
	if from+n == len(t.b) && !t.final && n < 1<<10 {
		return more
	}
	at0 := bytes.LastIndexByte(t.b[from:from+n], '@')
	if at0 < 0 {
		return t.oddPassword(at, from, n)
	}
	if at0 == 0 {
		return no
	}
	user := t.b[from : from+at0]
	if colon := bytes.IndexByte(user, ':'); colon >= 0 {
		if isTemplate(user[colon+1:]) {
			return no
		}
		return t.found("url", from+colon+1, from+at0)
	}
	lower, upper, digits := makeup(user)
	if len(user) < 10 || digits == 0 || lower+upper == 0 || isTemplate(user) {
		return no
	}
	return t.found("url", from, from+at0)
}

// isTemplate reports whether v only names a secret: ${TOKEN}, {{token}}, $TOKEN,
// <token>, ****. A token of mcprec's own is a schedule's.
func isTemplate(v []byte) bool {
	if len(v) == 0 {
		return true
	}
	last := v[len(v)-1]
	switch {
	case isMask(v), len(bytes.Trim(v, "*.x")) == 0, bytes.HasPrefix(v, []byte("mcprec1")):
		return true
	case v[0] == '$' && (len(v) > 2 && v[1] == '{' && last == '}' || word.run(v, 1) == len(v)-1):
		_, _, digits := makeup(v)
		return last == '}' || digits == 0
	case v[0] == '[':
		return last == ']'
	case v[0] == '{':
		return last == '}'
	case v[0] == '<':
		return last == '>'
	case v[0] == '%':
		return last == '%'
	}
	return false
}
