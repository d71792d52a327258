package redact

import "bytes"

// Some keys have parts of known lengths, and only short words of their own.

// lengths returns how much of b is parts of a class with dots between them, if each has
// so many bytes; 0: they are not; more: what comes next says it.
func (t *text) lengths(at int, c *class, parts ...int) (n int, v verdict) {
	for k, want := range parts {
		got := c.run(t.b[:min(len(t.b), at+n+want+1)], at+n)
		end := at + n + got
		if end == len(t.b) && got <= want && !t.final {
			return 0, more
		}
		if got != want || k < len(parts)-1 && (end >= len(t.b) || t.b[end] != '.') {
			return 0, no
		}
		if n += got; k < len(parts)-1 {
			n++
		}
	}
	return n, hit
}

// harness is a key of that: pat or sat, and three parts.
func harness(t *text, at int) verdict {
	if t.goesOn(at, word) {
		return no
	}
	n, v := t.lengths(at+len("pat."), word, 22, 24, 20)
	if v != hit {
		return v
	}
	return t.found("harness", at, at+len("pat.")+n)
}

// laterPart is a JSON web token that is told by what its second part begins with: the
// first may have blanks in front, or be encrypted.
func laterPart(t *text, at int) verdict {
	n := t.runBefore(at, word)
	if n < 17 {
		return no
	}
	m := slashed.run(t.b, at+1)
	if at+1+m == len(t.b) && !t.final {
		return more
	}
	if m < 17 || t.b[at-n] != 'e' || t.b[at-n+1] != 'y' && t.b[at-n+1] != 'w' {
		return no
	}
	if end := at + 1 + m; end < len(t.b) && t.b[end] == '.' {
		m += 1 + token.run(t.b, end+1)
		if at+1+m == len(t.b) && !t.final {
			return more
		}
		return t.found("jwt", at-n, at+1+m)
	}
	return no
}

// slashed is what a part of such a token has, of those that are made wrongly too.
var slashed = classOf("A-Za-z0-9_/-")

// teams is a webhook of Microsoft's: its path opens it.
func teams(t *text, at int) verdict {
	const from = len("webhookb2/")
	n := path.run(t.b, at+from)
	if at+from+n == len(t.b) && !t.final {
		return more
	}
	if n < 40 {
		return no
	}
	return t.found("teams-webhook", at+from, at+from+n)
}

var path = classOf("A-Za-z0-9_.@/-")

// digest is the answer of a digest of HTTP: passwords are tried against it.
func digest(t *text, at int) verdict {
	i := at + len("response=")
	q := quoteAt(t.b, i)
	n := hexa.run(t.b, i+q)
	if i+q+n == len(t.b) || t.unclear(i) {
		return t.open()
	}
	if q == 0 || n != 32 && n != 64 || !quoteMark[t.b[i+q+n]] && t.b[i+q+n] != '\\' {
		return no
	}
	return t.found("digest", i+q, i+q+n)
}

// oracle is the password of user/password@//host, as its clients have it.
func oracle(t *text, at int) verdict {
	n := t.runBefore(at, plain)
	slash := bytes.IndexByte(t.b[at-n:at], '/')
	if slash <= 0 || slash+3 > n || word.run(t.b[:at], at-n) != slash || t.before(at-n) == ':' {
		return no
	}
	if t.raw {
		t.resume = at + 1
		return hit
	}
	if from := at - n + slash + 1; !isTemplate(t.b[from:at]) {
		return t.found("url", from, at)
	}
	return no
}
