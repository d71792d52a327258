package replay

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

// maskPattern finds what a redaction left in the place of a secret: a keyed hash,
// so that equal secrets are still equal.
var maskPattern = regexp.MustCompile(`\[redacted:[0-9a-f]{16}\]`)

// isMasked reports whether a live text is the recorded one with something in the
// place of what is redacted: the same everywhere for one secret.
func (v *variables) isMasked(recorded, live string) bool { return v.unmask(recorded, live) != nil }

// unmask returns what stands in a live text for what is redacted in the recorded
// one; nil if the rest of the text differs, or a secret that is known already.
func (v *variables) unmask(recorded, live string) map[string]string {
	if !strings.Contains(recorded, "[redacted:") {
		return nil
	}
	places := maskPattern.FindAllStringIndex(recorded, -1)
	if places == nil {
		return nil
	}
	var pattern strings.Builder
	pattern.WriteString(`(?s)^`)
	from := 0
	for _, at := range places {
		pattern.WriteString(regexp.QuoteMeta(v.put("", recorded[from:at[0]])) + `(.*?)`)
		from = at[1]
	}
	found, err := regexp.Compile(pattern.String() + regexp.QuoteMeta(v.put("", recorded[from:])) + `$`)
	if err != nil { // too long for a pattern
		return nil
	}
	values := found.FindStringSubmatch(live)
	if values == nil {
		return nil
	}
	secrets := map[string]string{}
	for i, at := range places {
		mask := recorded[at[0]:at[1]]
		known, ok := secrets[mask]
		if !ok && v != nil && len(v.anywhere[mask]) > 0 {
			known, ok = v.anywhere[mask][0], true
		}
		if ok && known != values[i+1] {
			return nil
		}
		secrets[mask] = values[i+1]
	}
	return secrets
}

// hidden stands for a live value in the place of a redacted one: reports do not tell
// what the recording was made not to.
const hidden = "(not shown)"

// hide puts the masks back for the secrets that a text has.
func (v *variables) hide(text string) string {
	if v == nil {
		return text
	}
	for mask := range v.masks {
		if secret := v.anywhere[mask][0]; len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, mask)
		}
	}
	return text
}

// Secret is a redacted value in what the recorded client said.
type Secret struct {
	Seq  uint64 // the event
	What string // tools/call login
	Path string // JSON pointer from the message's root
	Text string // what stands for the value: [redacted: and a keyed hash]
}

// Secrets lists the redacted values that the driver would send as they stand: the
// recorded server has not said them before, so the live one cannot have given what
// they stand for. It is for asking before the server is started.
func (d *Driver) Secrets() []Secret {
	var list []Secret
	given := map[string]bool{}
	heard := 0
	for _, l := range d.lines {
		for ; heard < l.before; heard++ {
			for _, mask := range maskPattern.FindAll(d.turns[heard].msg().Raw, -1) {
				given[string(mask)] = true
			}
		}
		for _, m := range messagesOf(l.frame) {
			if bytes.Contains(m.Raw, []byte("[redacted:")) {
				secrets(treeOf(m.Raw), nil, func(path []string, mask string) {
					if !given[mask] {
						list = append(list, Secret{l.seq, l.what(), pointerText(path), mask})
					}
				})
			}
		}
	}
	return list
}

// secrets calls found with each redacted value of a tree, and where it stands.
func secrets(n tree, path []string, found func([]string, string)) {
	for i, kid := range n.kids {
		step := strconv.Itoa(i)
		if n.kind == '{' {
			step = n.keys[i]
		}
		secrets(kid, append(path, step), found)
	}
	if n.kind == '"' {
		for _, mask := range maskPattern.FindAllString(n.text, -1) {
			found(path, mask)
		}
	}
}
