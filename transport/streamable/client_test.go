package streamable

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

// A response that has no message and is no success is an error that names both.
func TestStatusError(t *testing.T) {
	for _, c := range []struct {
		status int
		header string
		body   string
		want   string
	}{
		{401, "", "who are you?\n", "401 Unauthorized: who are you?"},
		{500, "", "<html>no</html>", "500 Internal Server Error: <html>no</html>"},
		{302, "http://elsewhere.example/", "", "302 Found"},
	} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c.header != "" {
				w.Header().Set("Location", c.header)
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		client := dial(t, Client{URL: web.URL})
		say(t, client, 0, request(1, "a"))
		_, err := client.Read(t.Context())
		var status *StatusError
		if !errors.As(err, &status) || !strings.HasPrefix(err.Error(), "POST "+web.URL) || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
		client.Close()
		web.Close()
	}
	if _, err := (Client{URL: "localhost:3000"}).Dial(t.Context()); err == nil {
		t.Error("no URL, and no error")
	}
}

// The error with which a server refuses a message is a message, whatever the status.
func TestRefusalIsMessage(t *testing.T) {
	const body = `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}`
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, body)
	}))
	defer web.Close()
	client := dial(t, Client{URL: web.URL})
	defer client.Close()
	say(t, client, 9, request(1, "a"))
	if n := hears(t, client, body); n != 9 {
		t.Errorf("on stream %d", n)
	}
}

func TestRouting(t *testing.T) {
	for _, c := range []struct{ version, message, want string }{
		{"2025-11-25", request(1, "tools/list"), "2025-11-25||"},
		{"", request(1, "tools/list"), "||"},
		{"2026-07-28", request(1, "tools/list"), "2026-07-28|tools/list|"},
		{"", `{"id":1,"method":"tools/call","params":{"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, "2026-07-28|tools/call|echo"},
		{"2026-07-28", `{"id":1,"method":"resources/read","params":{"uri":"file:///a"}}`, "2026-07-28|resources/read|file:///a"},
		{"2026-07-28", `{"id":1,"method":"prompts/get","params":{"name":"ä"}}`, "2026-07-28|prompts/get|=?base64?w6Q=?="},
		{"2026-07-28", `{"id":1,"result":{}}`, "2026-07-28||"},
	} {
		h := http.Header{}
		messages, err := transport.Frame{Bytes: []byte(c.message)}.Messages()
		if err != nil {
			t.Fatal(err)
		}
		Route(h, messages[0], c.version)
		if got := strings.Join([]string{h.Get("Mcp-Protocol-Version"), h.Get("Mcp-Method"), h.Get("Mcp-Name")}, "|"); got != c.want {
			t.Errorf("%s: got %s, want %s", c.message, got, c.want)
		}
	}
}
