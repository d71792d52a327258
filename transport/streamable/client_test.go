package streamable

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	for _, no := range []string{"localhost:3000", "http:///mcp", "ftp://localhost/mcp", "http://[::1", "/mcp"} {
		if c, err := (Client{URL: no}).Dial(t.Context()); err == nil {
			t.Errorf("%s: no URL of a server, and no error", no)
			c.Close()
		}
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

// TestNoStream: an error in place of the standalone stream is a message, other bodies are none.
func TestNoStream(t *testing.T) {
	const refusal = `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}`
	for _, c := range []struct {
		status int
		body   string
	}{{http.StatusNotFound, refusal}, {http.StatusOK, refusal}, {http.StatusNotFound, "gone\n"}, {http.StatusNotFound, "[]"}, {http.StatusOK, `{"x":1}`}, {http.StatusOK, ""}} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			asked, _ := io.ReadAll(r.Body)
			switch {
			case r.Method == http.MethodGet:
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			case strings.Contains(string(asked), "initialized"):
				w.WriteHeader(http.StatusAccepted)
			default:
				_, _ = io.WriteString(w, result(1, "2025-11-25"))
			}
		}))
		client := dial(t, Client{URL: web.URL, Listen: ListenInitialized})
		say(t, client, 0, initialized)
		if c.body == refusal {
			hears(t, client, refusal)
		}
		say(t, client, 0, request(1, "ping"))
		hears(t, client, result(1, "2025-11-25"))
		client.Close()
		web.Close()
	}
}

// TestNoEndpoint: a server of HTTP+SSE that names no endpoint of its own is refused, and a later
// event does not change the endpoint.
func TestNoEndpoint(t *testing.T) {
	for _, c := range []struct {
		status     int
		kind, body string
		want       string
	}{
		{http.StatusNotFound, "text/event-stream", "event: endpoint\ndata: /say\n\n", "404 Not Found"},
		{http.StatusOK, "application/json", "{}", "200 OK"},
		{http.StatusOK, "text/event-stream", "data: {}\n\n", "does not begin with the endpoint event"},
		{http.StatusOK, "text/event-stream", "event: endpoint\ndata: http://elsewhere.example/say\n\n", "on another host"},
		{http.StatusOK, "text/event-stream", "event: endpoint\ndata: /say\n\nevent: endpoint\ndata: /other\n\n", ""},
	} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		client, err := Client{URL: web.URL, Legacy: true}.Dial(t.Context())
		if c.want == "" && err == nil {
			if _, err := client.Read(t.Context()); err != io.EOF {
				t.Errorf("%s: read %v", c.body, err)
			}
			client.mu.Lock()
			path := client.endpoint.Path
			client.mu.Unlock()
			if path != "/say" {
				t.Errorf("the endpoint is %s", path)
			}
			client.Close()
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d %q: got %v, want %s", c.status, c.body, err, c.want)
		}
		web.Close()
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
		{"2026-07-28", `{"id":1,"method":"tools/call","params":{"name":"a ~!b"}}`, "2026-07-28|tools/call|a ~!b"},
		{"2026-07-28", `{"id":1,"method":"tools/call","params":{"name":" a"}}`, "2026-07-28|tools/call|=?base64?IGE=?="},
		{"2026-07-28", `{"id":1,"method":"tools/call","params":{"name":"=?base64?a"}}`, "2026-07-28|tools/call|=?base64?PT9iYXNlNjQ/YQ==?="},
		{"2026-07-28", `{"id":1,"method":"tools/call","params":{"name":"a\tb"}}`, "2026-07-28|tools/call|=?base64?YQli?="},
		{"2026-07-28", `{"id":1,"method":"tools/call","params":{"name":"äb"}}`, "2026-07-28|tools/call|=?base64?w6Ri?="},
	} {
		h := http.Header{}
		messages, err := transport.Frame{Bytes: []byte(c.message)}.Messages()
		if err != nil {
			t.Fatal(err)
		}
		Route(h, messages[0], c.version)
		if _, there := h["Mcp-Method"]; there != strings.Contains(c.want, "/") {
			t.Errorf("%s: the method %q", c.message, h["Mcp-Method"])
		}
		if got := strings.Join([]string{h.Get("Mcp-Protocol-Version"), h.Get("Mcp-Method"), h.Get("Mcp-Name")}, "|"); got != c.want {
			t.Errorf("%s: got %s, want %s", c.message, got, c.want)
		}
	}
}

// served answers each request of a client with one response, and none to a second.
type served struct {
	status int
	kind   string
	body   []byte
	asked  int
}

func (s *served) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: http.StatusMethodNotAllowed, Header: http.Header{}, Request: r, Body: http.NoBody}
	if s.asked++; s.asked == 1 {
		resp.StatusCode = s.status
		resp.Header.Set("Content-Type", s.kind)
		resp.Body = io.NopCloser(bytes.NewReader(s.body))
	}
	return resp, nil
}

// FuzzResponse: whatever a server answers, the client reads the messages that are in
// it, or an error, and closes.
func FuzzResponse(f *testing.F) {
	f.Add(uint16(100), true, []byte("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"))
	f.Add(uint16(100), true, []byte("\ufeffid: 1\nretry: 99999999\ndata: {}\n\ndata: 2\r\ndata: 3\r\n\r\n"))
	f.Add(uint16(100), true, []byte("\ufeffevent: ping\ndata: x\n\n"))
	f.Add(uint16(100), true, []byte("event: ping\ndata: x\n\n: y\n\n"))
	f.Add(uint16(100), false, []byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":7}}`))
	f.Add(uint16(304), false, []byte("no"))
	f.Fuzz(func(t *testing.T, status uint16, stream bool, body []byte) {
		s := &served{status: 100 + int(status)%500, kind: "application/json", body: body}
		if stream {
			s.kind = "text/event-stream"
		}
		synctest.Test(t, func(t *testing.T) {
			got, err := answered(t, s)
			if s.status == http.StatusOK && stream {
				if want := messagesOf(string(body)); strings.Join(got, "\x00") != strings.Join(want, "\x00") {
					t.Errorf("%q: read %q, want %q", body, got, want)
				}
				return
			}
			if len(got) > 1 || len(got) == 1 && got[0] != string(body) {
				t.Errorf("read %q of %q", got, body)
			}
			if err == nil && len(got) == 0 && s.status >= 300 {
				t.Errorf("status %d is no error", s.status)
			}
		})
	})
}

// answered asks a server once, and returns what is read until nothing comes for an hour.
func answered(t *testing.T, s *served) (got []string, err error) {
	t.Helper()
	c, err := Client{URL: "http://host/mcp", Client: &http.Client{Transport: s}}.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(t.Context(), transport.Frame{Bytes: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)}); err != nil {
		t.Fatal(err)
	}
	patience, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for err == nil {
		var frame transport.Frame
		if frame, err = c.Read(patience); err == nil {
			got = append(got, string(frame.Bytes))
		}
	}
	if patience.Err() != nil {
		err = nil
	}
	if bad := c.Close(); bad != nil {
		t.Error(bad)
	}
	return got, err
}

// messagesOf reads a stream by the letter of the specification.
func messagesOf(stream string) (list []string) {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	var data []string
	kind := ""
	lines := strings.Split(stream, "\n")
	for _, line := range lines[:len(lines)-1] { // what has no line end is not one
		if line == "" {
			if text := strings.Join(data, "\n"); text != "" && (kind == "" || kind == "message") {
				list = append(list, text)
			}
			data, kind = nil, ""
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data = append(data, value)
		case "event":
			kind = value
		}
	}
	return list
}
