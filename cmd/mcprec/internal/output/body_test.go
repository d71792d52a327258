package output

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func printed(t *testing.T, b Body, width int, colors, payload string) string {
	t.Helper()
	var out bytes.Buffer
	s := NewScreen(&out, colors)
	s.Width = width
	b.Print(s, []byte(payload))
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestBody(t *testing.T) {
	for _, row := range []struct {
		name, payload string
		body          Body
		want          string
	}{
		{"what fits stands on one line", `{"id":1,"params":{"a":[1,2],"b":{}}}`, Body{Indent: 2}, `
  {"id": 1, "params": {"a": [1, 2], "b": {}}}`},
		{"what does not is spread", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","list":[]}}`, Body{}, `
{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "tools/call",
  "params": {"name": "x", "list": []}
}`},
		{"digits, order and doubled members stay", ` { "b" : 1.50e+10 , "a":123456789012345678901234567890,"b": -0.0,"u":"\u0041\u202e<&>"}`, Body{}, `
{
  "b": 1.50e+10,
  "a": 123456789012345678901234567890,
  "b": -0.0,
  "u": "\u0041\u202e<&>"
}`},
		{"nested", `[[["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],{"k":null}],true,false]`, Body{}, `
[
  [
    [
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    ],
    {"k": null}
  ],
  true,
  false
]`},
		{"few lines, cut", `{"one":"` + strings.Repeat("x", 1000) + `","two":2,"three":3,"four":[]}`, Body{Indent: 4, Lines: 3}, `
    {
      "one": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
      "two": 2,
    … (--body=full shows the rest)`},
		{"as many lines as there may be", `{"one":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","two":2}`, Body{Lines: 4}, `
{
  "one": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…
  "two": 2
}`},
		{"no JSON", "Loading\x1b[2J…\nready\r\n\n{\"a\":", Body{Indent: 2}, `
  Loading\u001b[2J…
  ready

  {"a":`},
		{"a word", `"x"`, Body{}, `
"x"`},
		{"control and bidi characters", `{"a":"` + "\u202e\u200f\u009b" + `"}`, Body{}, `
{"a": "\u202e\u200f\u009b"}`},
		{"nothing", ``, Body{Indent: 3}, "\n"},
	} {
		if got, want := printed(t, row.body, 46, "never", row.payload), strings.TrimPrefix(row.want, "\n"); strings.TrimSuffix(got, "\n") != want {
			t.Errorf("%s:\n%s\nwant\n%s", row.name, got, want)
		}
	}
}

func TestBodyColors(t *testing.T) {
	got := printed(t, Body{}, 80, "always", `{"k":["v",1,null]}`)
	want := "{\x1b[36m\"k\"\x1b[0m: [\x1b[32m\"v\"\x1b[0m, \x1b[33m1\x1b[0m, \x1b[33mnull\x1b[0m]}\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestBodyBounded: nesting and blanks do not make printing slow, and a short body reads only
// the beginning of a payload.
func TestBodyBounded(t *testing.T) {
	deep := strings.Repeat("[", 9000) + strings.Repeat(" ", 100_000) + strings.Repeat("]", 9000)
	if lines := strings.Count(printed(t, Body{}, 80, "never", deep), "\n"); lines < 17_900 || lines > 18_001 {
		t.Errorf("%d lines", lines)
	}
	long := `{"a":"` + strings.Repeat("x", 1<<20) + `","b":[` + strings.Repeat("1,", 1<<20) + `1]}`
	if out := printed(t, Body{Lines: 5}, 80, "never", long); len(out) > 1000 {
		t.Errorf("%d bytes", len(out))
	}
}

// FuzzBody: what is printed of JSON is the same JSON, whatever the width, and what is cut fits.
func FuzzBody(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"c\"\\"}],"a":[],"":{}}`), uint8(40))
	f.Fuzz(func(t *testing.T, payload []byte, width uint8) {
		var want, got bytes.Buffer
		if json.Compact(&want, payload) != nil {
			return
		}
		columns := 20 + int(width)
		out := printed(t, Body{}, columns, "never", string(payload))
		if err := json.Compact(&got, []byte(out)); err != nil || !sameText(got.String(), want.String()) {
			t.Errorf("%q became %q: %v", payload, out, err)
		}
		for line := range strings.Lines(printed(t, Body{Lines: 5}, columns, "never", string(payload))) {
			if Columns(strings.TrimSuffix(line, "\n")) > max(columns, 31) { // the last line may be longer
				t.Errorf("%q is wider than %d", line, columns)
			}
		}
	})
}

// sameText compares JSON of which one has had its control characters escaped.
func sameText(a, b string) bool { return a == b || a == Plain(b) }
