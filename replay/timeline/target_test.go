package timeline

import (
	"fmt"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

// What a message is about is read as JSON has it, also where it is no plain ASCII.
func TestTarget(t *testing.T) {
	for _, tt := range []struct {
		method, params, want string
		ok                   bool
	}{
		{"tools/call", `{"name":"search"}`, "search", true},
		{"tools/call", `{"name":"Zo\u00eb \"x\""}`, `Zoë "x"`, true},
		{"prompts/get", `{"name":"größe"}`, "größe", true},
		{"resources/read", `{"uri":"file:///a"}`, "file:///a", true},
		{"notifications/resources/updated", `{"uri":"file:///b"}`, "file:///b", true},
		{"tools/call", `{"name":""}`, "", true},
		{"tools/call", `{"name":7}`, "", false},
		{"tools/call", `{}`, "", false},
		{"tools/list", `{"name":"search"}`, "", false},
	} {
		f := transport.Frame{Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, tt.method, tt.params)}
		messages, err := f.Messages()
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := Target(messages[0]); got != tt.want || ok != tt.ok {
			t.Errorf("%s %s: %q, %v, want %q, %v", tt.method, tt.params, got, ok, tt.want, tt.ok)
		}
	}
}
