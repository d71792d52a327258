package gosdk

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// FuzzDecode: a frame is a message of the SDK or an error, and the message says what the
// frame did: its id, when it is written again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[1]}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"x","result":{}} trailing`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}`))
	f.Fuzz(func(t *testing.T, frame []byte) {
		b := bytes.TrimSpace(frame)
		if len(b) == 0 {
			return
		}
		m, err := decode(b)
		if err != nil {
			return
		}
		if b[0] == '[' || !json.Valid(b) {
			t.Fatalf("%q is taken for a message", b)
		}
		written, err := jsonrpc.EncodeMessage(m)
		if err != nil {
			return // of the SDK's: it reads what it does not write
		}
		if _, err := decode(written); err != nil {
			t.Errorf("%q became %q: %v", b, written, err)
		}
	})
}
