package transport

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// texts are JSON and what is not quite.
var texts = []string{
	``, ` `, `{}`, ` { } `, `[]`, `[ 1 , 2 ]`, `[1,]`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `[1 2]`, `{,}`, `[`, `{`, `{"a":1`, `{"a"`, `[1`,
	`0`, `-0`, `00`, `01`, `-`, `-1`, `1.`, `1.0`, `.5`, `1e5`, `1E+5`, `1e-`, `1e`, `1.5e3`, `+1`, `0x1`, `1-`, `0e0`, `-.5`,
	`true`, `tru`, `trues`, `false`, `null`, `nul`, `nulll`, `True`,
	`"`, `""`, `"a`, `"\"`, `"\\"`, `"\n"`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\u12aF"`, `"\u00GG"`, `"\u`, `"\`, "\"\t\"", "\"\x1f\"", "\"\x7f\"", "\"\xff\xfe\"", "\"\u2028\"",
	`"12345678"`, `"1234567\"`, `"12345678\""`, "\"1234567\x00\"", "\"\xa2\xdc\x80\x9f12345678\"", `{"a":[{"b":[[]]},null]}`, `{} {}`, `{}x`, "\ufeff{}", "\v{}",
}

// TestValid: what is JSON to encoding/json is to us, however deep.
func TestValid(t *testing.T) {
	all := append([]string{}, texts...)
	for _, depth := range []int{mostNested - 1, mostNested, mostNested + 1} {
		all = append(all, strings.Repeat("[", depth)+strings.Repeat("]", depth), strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth))
	}
	for c := range 256 { // each byte, in each place of a word and behind it
		for at := range 11 {
			text := []byte(`"abcdefghijkl"`)
			text[at+1] = byte(c)
			all = append(all, string(text), string(text[at+1:]), fmt.Sprintf("%c", c))
		}
	}
	for _, text := range all {
		if got, want := valid([]byte(text)), json.Valid([]byte(text)); got != want {
			t.Errorf("%.80q: got %t, want %t", text, got, want)
		}
	}
}

func FuzzValid(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, want := valid(text), json.Valid(text); got != want {
			t.Errorf("got %t, want %t", got, want)
		}
	})
}
