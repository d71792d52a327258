package replay

import (
	"regexp"
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
