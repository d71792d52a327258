package redact

import "bytes"

// Some secrets are known only by what stands behind them. They are found where one read
// has both: all that comes would have to be held for them.

// tailReach is how far in front of its literal such a secret may begin.
const tailReach = 96

// runBefore returns how many bytes of a class stand in front of a place, and behind the
// last secret.
func (t *text) runBefore(at int, c *class) int {
	first := 0
	if n := len(t.spans); n > 0 {
		first = t.spans[n-1].to
	}
	n := 0
	for at-n > first && n < tailReach && c[t.b[at-n-1]] {
		n++
	}
	return n
}

// dataSource is the password in front of "@tcp(" and "@unix(", as Go's driver of MySQL
// has it.
func dataSource(t *text, at int) verdict {
	n := t.runBefore(at, plain)
	colon := bytes.IndexByte(t.b[at-n:at], ':')
	if colon < 0 || colon+1 == n {
		return no
	}
	if t.raw {
		t.resume = at + 1
		return hit
	}
	from := at - n + colon + 1
	if isTemplate(t.b[from:at]) {
		return no
	}
	return t.found("url", from, at)
}

// mailchimp is a key in front of "-us" and a number: 32 digits of base 16.
func mailchimp(t *text, at int) verdict {
	end := at + len("-us")
	end += alnum.near(t.b, end)
	switch {
	case end == len(t.b) && !t.final:
		return more
	case t.runBefore(at, alnum) != 32 || t.runBefore(at, hexa) != 32 || end-at > len("-us")+2:
		return no
	}
	return t.found("mailchimp", at-32, end)
}

// microsoft is a key of Azure DevOps or the like, which has JQQJ99 in its middle.
func microsoft(t *text, at int) verdict {
	n, m := t.runBefore(at, alnum), alnum.near(t.b, at)
	switch {
	case at+m == len(t.b) && !t.final:
		return more
	case n < 40 || n+m < 76 || n+m > 100:
		return no
	}
	return t.found("azure", at-n, at+m)
}

// maxmind is a key in front of "_mmk".
func maxmind(t *text, at int) verdict {
	end := at + len("_mmk")
	if end == len(t.b) && !t.final {
		return more
	}
	if n := t.runBefore(at, word); n == 36 && !(end < len(t.b) && word[t.b[end]]) {
		return t.found("maxmind", at-n, end)
	}
	return no
}

// closedBlock returns a matcher of a key that begins at the literal, or behind the line
// it is in, and ends where its closing is.
func closedBlock(opening, closing string, behind bool) matcher {
	return func(t *text, at int) verdict {
		b := t.b[at:]
		if room := len(opening) + len(" 1"); len(b) < room && !t.final {
			return more
		} else if len(b) < room || string(b[:len(opening)]) != opening || behind && numberLength(b[len(opening)+1:room]) == 0 {
			return no
		}
		if t.raw {
			t.resume = at + 1
			return hit
		}
		from, end := 0, bytes.Index(b, []byte(closing))
		if behind {
			from = bytes.IndexByte(b, '\n') + 1
		}
		if end < 0 && !t.final {
			return more
		}
		if end < 0 {
			end = len(b)
		}
		return t.found("private-key", at+from, at+end)
	}
}

// oddPassword is the password of a URL that has a '/', '?' or '#' in it, whose name
// stands behind the place, up to the colon.
func (t *text) oddPassword(at, from, n int) verdict {
	colon := bytes.IndexByte(t.b[from:from+n], ':')
	end := from + n
	if colon < 0 || end == len(t.b) || t.uri || bytes.IndexByte([]byte("/?#"), t.b[end]) < 0 {
		return no
	}
	begin := t.b[from+colon+1 : end]
	web := t.b[end] == '/' && (t.standsBefore(at, "http") || t.standsBefore(at, "https"))
	if _, _, digits := makeup(begin); web || digits == len(begin) && digits <= 5 || isTemplate(begin) || bytes.EqualFold(begin, []byte("port")) {
		return no
	}
	rest := t.b[end:min(len(t.b), end+2*contextSize)]
	m := addressRest.run(rest, 0)
	if m == len(rest) && len(rest) < 2*contextSize && !t.final {
		return more
	}
	if v := t.escapedOn(end+m, at+1); v != no {
		return v
	}
	k := bytes.IndexByte(rest[:m], '@')
	if k < 0 || rest[k-1] == '/' || k+1 == m || !alnum[rest[k+1]] {
		return no
	}
	return t.found("url", from+colon+1, end+k)
}

// addressRest is what the rest of a URL has.
var addressRest = negated(" \t\r\n\"'`<>(){}[]\\|,;")
