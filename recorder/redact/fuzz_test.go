package redact

import (
	"bytes"
	"encoding/json"
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
