package redact

import "bytes"

// longestManifest bounds how much of a manifest of Kubernetes is looked at.
const longestManifest = 16 << 10

// manifest looks in a manifest for the data of a secret, whatever the names in it are.
// Where JSON is taken apart it is not text, and this is of YAML and of what is within
// strings.
func manifest(t *text, at int) verdict {
	rest := t.b[at:min(len(t.b), at+longestManifest)]
	if !bytes.HasPrefix(rest, []byte("apiVersion")) {
		return no
	}
	if next := bytes.Index(rest[1:], []byte("apiVersion")); next >= 0 {
		rest = rest[:1+next]
	} else if len(rest) < longestManifest && !t.final {
		return more
	}
	if !bytes.Contains(rest, []byte("ecret")) {
		return no
	}
	if t.raw {
		t.resume = at + 1
		return hit
	}
	count := len(t.spans)
	if i := len("apiversion"); i < len(rest) && quoteAt(rest, i) > 0 {
		t.members(at, rest)
	} else {
		t.lines(at, rest)
	}
	if len(t.spans) > count {
		return hit
	}
	return no
}

// members is for a manifest in JSON, within whose object b begins.
func (t *text) members(at int, b []byte) {
	secret := false
	var data []int
	for i := 0; i < len(b); {
		name, value := memberAt(b, i)
		if value < 0 {
			break
		}
		end := pastValue(b, value)
		if end < 0 {
			break
		}
		switch {
		case string(name) == "kind":
			secret = string(bytes.Trim(b[value:end], "\\\" ")) == "Secret"
		case (string(name) == "data" || string(name) == "stringData") && b[value] == '{':
			data = append(data, value+1)
		}
		i = end
	}
	for _, i := range data {
		for secret && i >= 0 && i < len(b) && b[i] != '}' {
			_, value := memberAt(b, i)
			if value < 0 {
				break
			}
			if i = pastValue(b, value); i > value {
				t.datum(at, b, value, i)
			}
		}
	}
}

// memberAt returns the name of the next member, and where its value begins; -1: there
// is none.
func memberAt(b []byte, i int) (name []byte, value int) {
	if i += lineStart(b[i:]); i < len(b) && b[i] == ',' {
		i += 1 + lineStart(b[i+1:])
	}
	i += quoteAt(b, i)
	n := naming.run(b, i)
	name = b[i : i+n]
	i += n
	i += quoteAt(b, i)
	if i += lineStart(b[i:]); n == 0 || i >= len(b) || b[i] != ':' {
		return nil, -1
	}
	i++
	if i += lineStart(b[i:]); i >= len(b) {
		return nil, -1
	}
	return name, i
}

// lines is for a manifest in YAML.
func (t *text) lines(at int, b []byte) {
	secret := false
	var data []int
	for i := 0; i < len(b); {
		end, next := line(b, i)
		switch l := bytes.TrimSpace(b[i:end]); {
		case hasFolded(l, kindSecret) && (len(l) == len(kindSecret) || !alnum[l[len(kindSecret)]]):
			secret = true
		case string(l) == "data:", string(l) == "stringData:":
			data = append(data, i)
		}
		i = next
	}
	for _, i := range data {
		if secret {
			t.dataBlock(at, b, i)
		}
	}
}

var kindSecret = folded("kind: secret")

// line returns where the line at i ends, which may be an escape, and where the next
// begins.
func line(b []byte, i int) (end, next int) {
	for ; i < len(b); i++ {
		if b[i] == '\n' {
			return i, i + 1
		}
		if k := i + backslash.run(b, i); k > i && k < len(b) && b[k] == 'n' {
			return i, k + 1
		}
	}
	return i, i
}

// dataBlock adds the values of a block, whose name stands in the line at i: those that
// have lines of their own, too.
func (t *text) dataBlock(at int, b []byte, i int) {
	outer := blanks(b, i, false)
	_, i = line(b, i)
	for i < len(b) {
		end, next := line(b, i)
		inner := blanks(b, i, false)
		colon := bytes.IndexByte(b[i:end], ':')
		if inner <= outer && len(bytes.TrimSpace(b[i:end])) > 0 {
			return
		}
		if colon < 0 || b[i+inner] == '#' {
			i = next
			continue
		}
		from := i + colon + 1
		if v := bytes.TrimSpace(b[from:end]); len(v) > 0 && (v[0] == '|' || v[0] == '>') {
			for from = next; next < len(b) && blanks(b, next, false) > inner; {
				end, next = line(b, next)
			}
		}
		t.datum(at, b, from, max(from, end))
		i = next
	}
}

// datum adds a value without its quotes.
func (t *text) datum(at int, b []byte, from, to int) {
	const around = " \t\r\n\"'\\"
	v := bytes.TrimLeft(b[from:to], around)
	from = to - len(v)
	if v = bytes.TrimRight(v, around); len(v) > 0 && v[0] != '{' && !isTemplate(v) && !holdsMask(v) {
		t.found("kubernetes", at+from, at+from+len(v))
	}
}
