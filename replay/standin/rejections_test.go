package standin

import (
	"net/http"
	"testing"
)

// TestFormsOf: which of the wanted forms of an answer a request does not accept.
func TestFormsOf(t *testing.T) {
	for _, row := range []struct {
		accept []string
		want   string
	}{
		{[]string{"application/json, text/event-stream"}, ""},
		{[]string{"text/event-stream", "application/json;q=0.9"}, ""},
		{[]string{"Application/JSON", "TEXT/*"}, ""},
		{[]string{"*/*"}, ""},
		{[]string{"application/*"}, "only application/json"},
		{[]string{"application/jsonp, application/json+x"}, "only "},
		{[]string{"text/html"}, "only "},
		{[]string{""}, "only "},
		{nil, "unsaid"},
	} {
		if got := formsOf(http.Header{"Accept": row.accept}, "application/json", "text/event-stream"); got != row.want {
			t.Errorf("%q: %q, want %q", row.accept, got, row.want)
		}
	}
}

// TestReadBody: what the body of a request says of its form.
func TestReadBody(t *testing.T) {
	const whole = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	header := func(version, method, name string) http.Header {
		h := http.Header{}
		h.Set("Mcp-Protocol-Version", version)
		h.Set("Mcp-Method", method)
		h.Set("Mcp-Name", name)
		return h
	}
	for _, row := range []struct {
		header         http.Header
		body           string
		begins, broken bool
		misrouted      string
	}{
		{nil, ``, false, false, ""},
		{nil, `{`, false, true, ""},
		{nil, `{"id":1,"method":"initialize"}`, true, false, ""},
		{nil, `[{"id":2,"method":"ping"},{"id":1,"method":"initialize"}]`, true, false, ""},
		{nil, `{"id":1,"method":"server/discover"}`, true, false, ""},
		{nil, `{"id":1,"method":"tools/call","params":{"name":"x"}}`, false, false, ""},
		{nil, `{"id":1,"result":{}}`, false, false, ""},
		{header("2026-07-28", "tools/call", "x"), whole, false, false, ""},
		{header("2026-07-28", "tools/call", "y"), whole, false, false, "Mcp-Name y"},
		{header("2025-11-25", "tools/list", "x"), whole, false, false, "Mcp-Protocol-Version 2025-11-25, Mcp-Method tools/list"},
	} {
		begins, broken, misrouted := readBody(row.header, []byte(row.body))
		if begins != row.begins || broken != row.broken || misrouted != row.misrouted {
			t.Errorf("%s with %v: begins %v, broken %v, misrouted %q", row.body, row.header, begins, broken, misrouted)
		}
	}
}

// TestSaidTo: a refusal that answers the recorded request by its id answers the live one by that one's.
func TestSaidTo(t *testing.T) {
	const asked, said = `{"id":7,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":7,"error":{"code":1}}`
	for _, row := range []struct{ asked, said, live, want string }{
		{asked, said, `{"id":"x","method":"tools/list"}`, `{"jsonrpc":"2.0","id":"x","error":{"code":1}}`},
		{asked, `{"jsonrpc":"2.0","id":null,"error":{"code":1}}`, `{"id":"x","method":"tools/list"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":1}}`},
		{asked, said, `{"method":"notifications/x"}`, said},
		{asked, said, `no JSON`, said},
		{``, said, `{"id":"x","method":"tools/list"}`, said},
		{asked, `no session`, `{"id":"x","method":"tools/list"}`, `no session`},
	} {
		ex := &exchange{asked: []byte(row.asked), said: []byte(row.said)}
		if got := string(ex.saidTo([]byte(row.live))); got != row.want {
			t.Errorf("%s, to %s: %s, want %s", row.said, row.live, got, row.want)
		}
	}
}
