package schedule

import (
	"strings"
	"testing"
)

func TestTokenText(t *testing.T) {
	for _, s := range []string{
		"mcprec1.0-0.delivery.a.default",
		"mcprec1.0-0.delivery.b.default",
		"mcprec1.1-u.delivery.a.1:00000000",
		"mcprec1.12-0.delivery.a.3:9a8b7c6d-17:00ff00ff",
		"mcprec1.12-0.sending.a.3:9a8b7c6d-17+00ff00ff-2+00000001",
	} {
		token, err := ParseToken(s)
		if err != nil || token.String() != s {
			t.Errorf("token %s: read as %+v, %v; written as %s", s, token, err, token)
		}
	}
}

func TestTokenErrors(t *testing.T) {
	for s, want := range map[string]string{
		"":                                             `parse token "": it begins with "", want mcprec1`,
		"mcprec1…":                                     `parse token "mcprec1…": paste the whole token: this is its beginning`,
		"mcprec2.0-0.delivery.a.default":               `it begins with "mcprec2", want mcprec1`,
		"mcprec1.0-0.DeliveryOrder.a":                  "it has 4 parts between dots, want 5",
		"mcprec1.0.delivery.a.default":                 `buffers "0": want two`,
		"mcprec1.0-x.delivery.a.default":               `buffer "x": want u or a number`,
		"mcprec1.-1-0.delivery.a.default":              `buffer "": want u or a number`,
		"mcprec1.0-01.delivery.a.default":              `buffer "01"`,
		"mcprec1.0-0.L2.a.default":                     `"L2": this version knows delivery and sending`,
		"mcprec1.0-0.delivery.c.default":               `engine "c": this version knows a and b`,
		"mcprec1.0-0.delivery.a.":                      `choice "": want step:hash`,
		"mcprec1.0-0.delivery.a.0:00000000":            `choice "0:00000000": want step:hash`,
		"mcprec1.0-0.delivery.a.1:0000000":             "want a hash of 8",
		"mcprec1.0-0.delivery.a.1+00000000-2:00000000": "comes after one that puts a step off",
		"mcprec1.0-0.delivery.a.1+0":                   "want a hash of 8",
		"mcprec1.0-0.delivery.a.1:0000000A":            "want a hash of 8",
		"mcprec1.0-0.delivery.a.1:00000000x":           "want a hash of 8",
		"mcprec1.0-0.delivery.a.2:00000000-2:00000001": "its step comes not after step 2",
	} {
		if _, err := ParseToken(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("token %s: %v, want %s", s, err, want)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add("mcprec1.0-0.delivery.a.default")
	f.Add("mcprec1.1-u.delivery.a.3:9a8b7c6d-17:00ff00ff")
	f.Add("mcprec1.1-u.delivery.a.3:9a8b7c6d-17+00ff00ff-2+00000000")
	f.Fuzz(func(t *testing.T, s string) {
		token, err := ParseToken(s)
		if err == nil && token.String() != s {
			t.Errorf("token %q is written as %q", s, token)
		}
	})
}
