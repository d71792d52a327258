package otlp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcprec/mcprec/store/jsonl"
)

// FuzzTraceparent: a span of a peer is whole, or it is none.
func FuzzTraceparent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "a=b")
	f.Add("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "")
	f.Add("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x", "")
	f.Fuzz(func(t *testing.T, parent, state string) {
		r := parseRemote(parent, state)
		if r == nil {
			return
		}
		if want := fmt.Sprintf("-%x-%x-%02x", r.trace, r.span, r.flags); len(parent) < 55 || parent[2:55] != want || r.trace == (traceID{}) || r.span == (spanID{}) {
			t.Errorf("%q is read as %q", parent, want)
		}
	})
}

// FuzzWrite: of whatever was recorded spans can be made.
func FuzzWrite(f *testing.F) {
	f.Add([]byte(`{"mcprec":1,"start":"2026-01-01T00:00:00Z"}` + "\n" +
		`{"dir":"c2s","frame":{"id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1,"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}}}` + "\n" +
		`{"dir":"s2c","frame":{"method":"notifications/progress","params":{"progressToken":1}}}` + "\n" + `{"dir":"s2c","frame":{"id":1,"result":{"isError":true}}}`))
	f.Add([]byte(`{"mcprec":1,"transport":"http"}` + "\n" + `{"kind":"http","dir":"c2s","stream":1,"data":{"what":"request","method":"POST","path":"/","header":{"Traceparent":["x"]}}}` + "\n" +
		`{"dir":"c2s","stream":1,"frame":{"id":1,"method":"initialize"}}` + "\n" + `{"dir":"c2s","frame":{"method":"notifications/cancelled","params":{"requestId":1}}}` + "\n" + `{"kind":"exit","data":{"code":1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var out bytes.Buffer
		if err := WriteJSON(&out, jsonl.Decode(bytes.NewReader(text)), "test"); err != nil {
			return
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("%q became %q", text, line)
			}
		}
	})
}
