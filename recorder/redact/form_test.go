package redact

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// A value that JSON writes with escapes is found as encoders write it, in JSON within a
// string too, and wherever the frame is cut.
func TestValueForms(t *testing.T) {
	for _, value := range []string{`pa"ss 1`, `back\slash`, "two\nlines", "a/b/c/d", "p<w>&1", "pässwört", "日本語!", "key\U0001F511end", `long before the "quote"`} {
		r := newRedactor(t, Rules{Values: []string{value}})
		for _, one := range inJSON(value) {
			for _, form := range append(inJSON(one), one) {
				in := []byte(`{"a":"so ` + form + ` it is"}`)
				if !json.Valid(in) {
					t.Fatalf("%s is no JSON", in)
				}
				want := `{"a":"so ` + r.Mask(value) + ` it is"}`
				for cut := range len(in) {
					got, n := inStretches(r, in, cut)
					if !sameMasks(string(got), want) || n != 1 {
						t.Fatalf("%s\ncut at %d became %s (%d)", in, cut, got, n)
					}
				}
				if upper := bytes.Replace(in, []byte("so "), []byte(strings.Repeat("x", 5000)), 1); true {
					if got, n := r.Frame(upper); n != 1 || bytes.Contains(got, []byte(form)) {
						t.Fatalf("%.60s: %d, %s", in, n, got[5000:])
					}
				}
			}
		}
	}
}
