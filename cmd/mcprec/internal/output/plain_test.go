package output

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// hostile is what a peer could put into any text: sequences that clear the screen and set
// the title, a bell, C1, marks of direction, a forged line.
const hostile = "\x1b[2J\x1b]0;x\x07\u009b31m\u202ex\u2066y\ufeff\r\x7f\u2028\U000E0001\nFORGED"

// TestPlainWriter: a character may come in parts.
func TestPlainWriter(t *testing.T) {
	text := "a\tb\n" + hostile + "日本語👨\u200d👩\u00a0\xff\xe6\x97z\xe6\x97"
	want := `a` + "\t" + "b\n" + `\u001b[2J\u001b]0;x\u0007\u009b31m\u202ex\u2066y\ufeff\u000d\u007f\u2028\udb40\udc01` + "\nFORGED" +
		"日本語👨\u200d👩\u00a0\uFFFD\uFFFD\uFFFDz\uFFFD\uFFFD"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := NewWriter(&out)
		for rest := []byte(text); len(rest) > 0; {
			n := min(size, len(rest))
			if m, err := w.Write(rest[:n]); m != n || err != nil {
				t.Fatal(m, err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil || out.String() != want {
			t.Fatalf("in parts of %d: %v\n got %q\nwant %q", size, err, out.String(), want)
		}
	}
}

// TestPlainJSON: what is escaped is the same JSON.
func TestPlainJSON(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(hostile + "\U000E0001"); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got != hostile+"\U000E0001" {
		t.Errorf("%v: %q", err, got)
	}
}

// TestPlainName: a name that a peer chose is shown as far as a line can have it, and whole
// characters of it.
func TestPlainName(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "echo": "echo", "a\nb\x1b": `a\nb\u001b`,
		strings.Repeat("a", 120):        strings.Repeat("a", 120),
		strings.Repeat("a", 121):        strings.Repeat("a", 120) + "…",
		strings.Repeat("a", 119) + "äb": strings.Repeat("a", 119) + "…",
	} {
		if got := PlainName(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

// FuzzPlain: whatever a peer says, what is printed cannot drive a terminal, however it is
// written; and JSON stays the same JSON, but where a CR stands between its values.
func FuzzPlain(f *testing.F) {
	f.Add([]byte("a\x1b[2Jb\u202ec\u0000\n"), uint8(3))
	f.Add([]byte("\xe2\x80"), uint8(1))
	f.Add([]byte("{\"a\":\"\u0085\U000E0041\u200d\"}"), uint8(200))
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		var out bytes.Buffer
		w := NewWriter(&out)
		for rest := text; len(rest) > 0; {
			n := min(len(rest), int(size)+1)
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if want := string(appendPlain(nil, text)); out.String() != want {
			t.Errorf("%q in pieces of %d: %q, want %q", text, int(size)+1, out.String(), want)
		}
		for _, r := range out.String() {
			if !isShown(r) && r != '\n' && r != '\t' {
				t.Fatalf("%q has %q", text, r)
			}
		}
		if line := Plain(string(text)); strings.ContainsAny(line, "\n\t\x1b\r") {
			t.Errorf("%q breaks its line", line)
		}
		if utf8.Valid(text) && json.Valid(text) && !bytes.ContainsRune(text, '\r') && !sameJSON(t, text, out.Bytes()) {
			t.Errorf("%q became %q", text, out.Bytes())
		}
	})
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y bytes.Buffer
	for text, into := range map[*[]byte]*bytes.Buffer{&a: &x, &b: &y} {
		var v any
		d := json.NewDecoder(bytes.NewReader(*text))
		d.UseNumber()
		if d.Decode(&v) != nil || json.NewEncoder(into).Encode(v) != nil {
			return false
		}
	}
	return x.String() == y.String()
}
