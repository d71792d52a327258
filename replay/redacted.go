package replay

import (
	"strings"

	"github.com/mcprec/mcprec/replay/phrase"
)

// maskPattern finds what a redaction left in the place of a secret: a keyed hash,
// so that equal secrets are still equal.
var maskPattern = phrase.Regexp(`\[redacted:[0-9a-f]{16}\]`)

// unmask returns what stands in a live text for what is redacted in the recorded
// one: something, and the same everywhere for one secret; nil if there is nothing of
// the kind, or the rest of the text differs.
func (v *variables) unmask(recorded, live tree) map[string]string {
	if recorded.kind != '"' || live.kind != '"' || !strings.Contains(recorded.text, "[redacted:") {
		return nil
	}
	var secrets map[string]string
	from, rest := 0, live.text
	places := maskPattern().FindAllStringIndex(recorded.text, -1)
	for i, at := range places {
		var ok bool
		if rest, ok = strings.CutPrefix(rest, v.put("", recorded.text[from:at[0]])); !ok {
			return nil
		}
		end := len(recorded.text)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		mask := recorded.text[at[0]:at[1]]
		value := v.secret(mask, secrets)
		if value == "" {
			value = upTo(rest, v.put("", recorded.text[at[1]:end]), i+1 == len(places))
		}
		if rest, ok = strings.CutPrefix(rest, value); !ok || value == "" {
			return nil
		}
		if secrets == nil {
			secrets = map[string]string{}
		}
		secrets[mask], from = value, at[1]
	}
	if from == 0 || rest != v.put("", recorded.text[from:]) {
		return nil
	}
	return secrets
}

// secret returns what a mask is known to stand for; "": it is not.
func (v *variables) secret(mask string, found map[string]string) string {
	if v != nil && len(v.anywhere[mask]) > 0 {
		return v.anywhere[mask][0]
	}
	return found[mask]
}

// upTo returns the part of a text, which is not empty, in front of the next place of
// another, or of its last; "" if there is none.
func upTo(text, next string, last bool) string {
	switch {
	case text == "":
	case last:
		if before, ok := strings.CutSuffix(text, next); ok {
			return before
		}
	default:
		if i := strings.Index(text[1:], next); i >= 0 {
			return text[:1+i]
		}
	}
	return ""
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
