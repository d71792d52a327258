package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// needlessly escapes some of a JSON text's quotes in strings, and of its letters.
func needlessly(rnd *rand.Rand, in []byte) []byte {
	var out []byte
	for i := 0; i < len(in); i++ {
		switch c := in[i]; {
		case c == '\\' && in[i+1] == '"':
			out = append(out, `\u0022`...)
			i++
		case c == '\\':
			out = append(out, in[i:i+2]...)
			i++
		case alnum[c] && rnd.IntN(90) == 0 && bytes.Count(in[:i], []byte{'"'})%2 == 1:
			out = fmt.Appendf(out, `\u%04x`, c)
		default:
			out = append(out, c)
		}
	}
	return out
}

// A frame that escapes what it need not says the same as one that does not, and of the
// same secrets; those of the second that the first look passes have none.
func TestNeedlessEscapes(t *testing.T) {
	quick := newRedactor(t, Rules{Values: []string{"open sesame"}})
	slow := thorough(quick)
	rnd := rand.New(rand.NewPCG(5, 6))
	found, clean := 0, 0
	for i, secret := range append(planted(), "nothing", `{\"key\":\"word\",\"tokens\":12}`) {
		for at := range 40 {
			text := noise(rnd, 1, at) + ` \"name\": \"x\", ` + secret + noise(rnd, i%2, rnd.IntN(40))
			frame := fmt.Appendf(nil, `{"result":{"content":[{"text":"%s"},{"n":1,"ok":true}]}}`, text)
			in := needlessly(rnd, frame)
			if !sameJSON(in, frame) { // an escape of the text's own was escaped
				continue
			}
			if quick.Clean(in) {
				clean++
			}
			want, wantN := slow.Frame(in)
			if got, n := quick.Frame(in); !bytes.Equal(got, want) || n != wantN {
				t.Fatalf("%s\nbecame %s (%d)\nwant   %s (%d)", in, got, n, want, wantN)
			}
			found += wantN
		}
	}
	if found < 20*len(planted()) || clean < 40 {
		t.Errorf("%d secrets, %d frames clean at a look: this tests nothing", found, clean)
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"\u0022b\u0022"}`:      `{"a":"\"b\""}`,
		`{"a":"\\u0022\\\u0022"}`:    `{"a":"\\u0022\\\""}`,
		`{"a":"\u005cu0041\u0041"}`:  `{"a":"\\u0041A"}`,
		`{"a":"\u00e9\u007f\u000a"}`: `{"a":"\u00e9\u007f\u000a"}`,
		`{"\u003C\u003e":"\u00`:      `{"<>":"\u00`,
		`\u00\u0041\u004`:            `\u00A\u004`,
		strings.Repeat(`\\`, 9):      strings.Repeat(`\\`, 9),
	} {
		var x text
		if got := string(x.unescape([]byte(in))); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
		if json.Valid([]byte(in)) && !sameJSON([]byte(in), []byte(want)) {
			t.Errorf("%s does not say what %s says", want, in)
		}
	}
}

// Of a member's name with odd marks in it the first look reads the end alone, which may
// promise less than the whole.
func TestOddNames(t *testing.T) {
	r := newRedactor(t, Rules{})
	for _, in := range []string{`{"0!key":"000000000000A0A0"}`, `{"x":{"my §key" : "a1b2c3d4e5f6a7b8"}}`} {
		if want, n := thorough(r).Frame([]byte(in)); n != 1 {
			t.Errorf("%s became %s when it was taken apart", in, want)
		}
		if out, n := r.Frame([]byte(in)); n != 1 {
			t.Errorf("%s became %s", in, out)
		}
	}
}
