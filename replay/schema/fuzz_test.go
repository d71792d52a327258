package schema

import (
	"strings"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

// FuzzCheck: any message is judged by any revision, and each fault names a place and
// says something.
func FuzzCheck(f *testing.F) {
	f.Add(uint8(3), "", []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":7}}`))
	f.Add(uint8(4), "tools/list", []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"x","inputSchema":{}}]}}`))
	f.Add(uint8(1), "elicitation/create", []byte(`[{"id":null,"error":{"code":1.5}},{"method":"x"},[]]`))
	var v Validator
	f.Fuzz(func(t *testing.T, revision uint8, method string, frame []byte) {
		messages, err := transport.Frame{Bytes: frame}.Messages()
		if err != nil {
			return
		}
		for _, m := range messages {
			faults, err := v.Check(revisions[int(revision)%len(revisions)], &m, method)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range faults {
				if x.Text == "" || x.Path != "" && !strings.HasPrefix(x.Path, "/") || len(x.Text) > 1<<16 {
					t.Errorf("%s: %+v", m.Raw, x)
				}
			}
		}
	})
}
