package match

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

func TestSplice(t *testing.T) {
	for _, tt := range []struct {
		doc  string
		path []string
		want string
	}{
		{`{"id":1}`, []string{"id"}, `{"id":NEW}`},
		{"\t{ \"id\" : 12e3 ,\"x\":1.50}\r", []string{"id"}, "\t{ \"id\" : NEW ,\"x\":1.50}\r"},
		{`{"result":{"id":1},"id":"a\u00e9"}`, []string{"id"}, `{"result":{"id":1},"id":NEW}`},
		{`{"\u0069d":1}`, []string{"id"}, `{"\u0069d":NEW}`},
		{`{"id":1,"id":2}`, []string{"id"}, `{"id":1,"id":NEW}`},
		{`{"a":{"b":1},"a":{"c":[] }}`, []string{"a", "c"}, `{"a":{"b":1},"a":{"c":NEW }}`},
		{`{"params":{"_meta":{"progressToken": null }}}`, []string{"params", "_meta", "progressToken"}, `{"params":{"_meta":{"progressToken": NEW }}}`},
		{`[ {"id":1}, {"id":2} ]`, []string{"1", "id"}, `[ {"id":1}, {"id":NEW} ]`},
		{`{"ID":1}`, []string{"id"}, ""},
		{`{"id":1`, []string{"id", "x"}, ""},
		{`[1]`, []string{"1"}, ""},
		{`"id"`, []string{"id"}, ""},
		{``, []string{"id"}, ""},
		{`{"id":tru}`, []string{"id"}, ""},
	} {
		got, ok := Splice([]byte(tt.doc), []byte("NEW"), tt.path...)
		if ok != (tt.want != "") {
			t.Errorf("%s: found %v", tt.doc, ok)
		}
		if ok && string(got) != tt.want || !ok && string(got) != tt.doc {
			t.Errorf("%s: got %s, want %s", tt.doc, got, tt.want)
		}
	}
}

// FuzzRemap holds that a splice keeps every other byte, that what was JSON stays
// so, and that the new value is then found where the old one was.
func FuzzRemap(f *testing.F) {
	f.Add([]byte(` {"id" : 1 , "id":[2], "x":"\u00e9"} `), []byte(`"new"`))
	f.Add([]byte(`{"params":{"progressToken":1.0}}`), []byte(`7`))
	f.Add([]byte(`[{"id":1}]`), []byte(`{"a":1}`))
	f.Fuzz(func(t *testing.T, doc, value []byte) {
		if !json.Valid(value) {
			return
		}
		for _, path := range [][]string{{"id"}, {"params", "progressToken"}, {"0", "id"}, {""}} {
			original := bytes.Clone(doc)
			got, ok := Splice(doc, value, path...)
			if !bytes.Equal(doc, original) {
				t.Fatal("the original was changed")
			}
			if !ok {
				if !bytes.Equal(got, doc) {
					t.Fatalf("nothing found, but %q became %q", doc, got)
				}
				continue
			}
			start, end, _ := transport.Locate(doc, path...)
			if !bytes.Equal(got[:start], doc[:start]) || !bytes.Equal(got[start+len(value):], doc[end:]) {
				t.Fatalf("other bytes changed: %q became %q", doc, got)
			}
			if json.Valid(doc) {
				if !json.Valid(doc[start:end]) || !json.Valid(got) {
					t.Fatalf("%q of %q became %q", doc[start:end], doc, got)
				}
				if back, _ := Splice(got, doc[start:end], path...); !bytes.Equal(back, doc) {
					t.Fatalf("%q came back as %q", doc, back)
				}
			}
		}
	})
}
