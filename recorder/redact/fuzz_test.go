package redact

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// FuzzFrame: what was JSON is JSON, the protocol's fields are what they were, redacting
// twice is redacting once, and nothing panics however a frame is cut.
func FuzzFrame(f *testing.F) {
	r := newRedactor(f, Rules{Values: []string{"open sesame"}})
	for _, marked := range frames {
		in, _ := unmark(r, marked)
		f.Add([]byte(in), uint16(len(in)/2))
	}
	f.Fuzz(func(t *testing.T, in []byte, cut uint16) {
		before := bytes.Clone(in)
		out, n := r.Frame(in)
		if !bytes.Equal(in, before) {
			t.Fatal("its input was changed")
		}
		if n == 0 && !bytes.Equal(in, out) {
			t.Errorf("%q became %q without a secret", in, out)
		}
		if again, _ := r.Frame(out); json.Valid(in) && !bytes.Equal(out, again) {
			t.Errorf("%q became %q and then %q", in, out, again)
		}
		if json.Valid(in) {
			sameFields(t, in, out)
		}
		s := r.Stream(false)
		at := min(int(cut), len(in))
		first, _ := s.Next(in[:at], true)
		last, _ := s.Next(in[at:], false)
		if whole := append(bytes.Clone(first), last...); json.Valid(in) && !json.Valid(whole) {
			t.Errorf("%q cut at %d became %q", in, at, whole)
		}
	})
}

// sameFields compares what is immune in one message.
func sameFields(t *testing.T, in, out []byte) {
	t.Helper()
	var a, b map[string]json.RawMessage
	if json.Unmarshal(in, &a) != nil {
		return
	}
	if err := json.Unmarshal(out, &b); err != nil {
		t.Fatalf("%q became %q: %v", in, out, err)
	}
	for _, name := range []string{"id", "method", "jsonrpc"} {
		if !bytes.Equal(a[name], b[name]) {
			t.Errorf("%q: %s became %s", in, a[name], b[name])
		}
	}
	var p, q map[string]json.RawMessage
	if json.Unmarshal(a["params"], &p) == nil && json.Unmarshal(b["params"], &q) == nil {
		for _, name := range []string{"name", "cursor", "progressToken"} {
			if !bytes.Equal(p[name], q[name]) {
				t.Errorf("%q: %s became %s", in, p[name], q[name])
			}
		}
	}
}

// FuzzRules: whatever a user names as secret, JSON stays JSON, the protocol's fields are
// what they were, and a value that is named is gone from every text.
func FuzzRules(f *testing.F) {
	f.Add("pin", "/params/arguments/n", "QUO-[0-9]+", "open sesame", []byte(`{"id":"open sesame","method":"tools/call","params":{"name":"pin","arguments":{"pin":4711,"n":[1],"q":"say open sesame or QUO-12"}}}`))
	f.Add("*user*", "/result/*/a~1b", "(x)y", "12345678", []byte(`{"id":1,"result":{"content":[{"a/b":true}],"user":12345678}}`))
	f.Add("", "x", "(", "", []byte("text 12345678"))
	f.Fuzz(func(t *testing.T, key, pointer, pattern, value string, in []byte) {
		re, err := regexp.Compile(pattern)
		if err != nil || re.MatchString("") {
			re = regexp.MustCompile("never to be seen")
		}
		r, err := New([]byte("a key of a test"), Rules{Keys: []string{key}, Pointers: []string{pointer}, Patterns: []*regexp.Regexp{re}, Values: []string{value}})
		if err != nil {
			return
		}
		out, n := r.Frame(in)
		if n == 0 && !bytes.Equal(in, out) {
			t.Errorf("%q became %q without a secret", in, out)
		}
		if first := bytes.TrimLeft(in, " \t\r\n"); !json.Valid(in) || !strings.ContainsRune(`{["`, rune(first[0])) {
			return // a number alone is text
		}
		if !json.Valid(out) {
			t.Fatalf("%q became %q", in, out)
		}
		sameFields(t, in, out)
	})
}

// FuzzValues: of an environment, a command line and a URL only parts of them are secrets.
func FuzzValues(f *testing.F) {
	f.Add("API_TOKEN=tok-98765432", "--api-key=argument77", "https://me:pass77@host/x?token=abcd1234")
	f.Add("PATH=/bin", "--token", "Bearer abcdefgh12345678")
	f.Add("=", "--password", "redis://:pw123456@h")
	f.Fuzz(func(t *testing.T, env, one, two string) {
		for _, v := range EnvValues([]string{env}, []string{"NAME"}) {
			if v == "" || !strings.HasSuffix(env, "="+v) {
				t.Errorf("%q of %q", v, env)
			}
		}
		for _, v := range ArgValues([]string{one, two}) {
			if v == "" {
				t.Errorf("nothing is a secret of %q %q", one, two)
			}
		}
		r, err := New([]byte("a key of a test"), Rules{Values: append(ArgValues([]string{one, two}), URLValues(two)...)})
		if err != nil {
			t.Fatal(err)
		}
		if out, _ := r.Frame([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)); !json.Valid(out) {
			t.Errorf("%q", out)
		}
	})
}
