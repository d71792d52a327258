package foreign_test

import (
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store/foreign"
)

// TestUnknown: of a file that is not read it is said what it looks like, and never that it is damaged.
func TestUnknown(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "the file is empty",
		"\n \r\n":              "the file is empty",
		"\x1f\x8b\b\x00\x00":   "gzip",
		"PK\x03\x04":           "a zip archive",
		"\x28\xb5\x2f\xfd\x04": "zstd",
		"\xff\xfe{\x00\"\x00":  "UTF-16",
		"2\x000\x002\x005\x00-\x000\x009\x00-\x000\x009\x00T\x000\x004\x00": "UTF-16",
		"\xd4\xc3\xb2\xa1\x02\x00":                                                            "captured packets",
		"\x0a\x0d\x0d\x0a\x1c\x00":                                                            "captured packets",
		"SQLite format 3\x00":                                                                 "SQLite",
		"\x00\x01\x02\x03\xfe\xfe\xfe\xfe":                                                    "binary data",
		"2057:5:error,0:~;4:type;http;flow":                                                   "mitmproxy",
		"4711 10:00:00.000100 poll([{fd=0, events=POLLIN}], 1, -1) = 1\n":                     "strace",
		"interactions:\n- request:\n    body: '{}'\n":                                         "a cassette",
		"---\nversion: 2\ninteractions:\n    - id: 0\n":                                       "a cassette",
		`{"resourceSpans":[]}`:                                                                "OpenTelemetry",
		"sequenceDiagram\n  participant c\n":                                                  "Mermaid",
		"     1    0.000000        recording opened: stdio\n":                                 "mcprec show",
		`{"debug": "Starting connection", "sessionId": "0", "cwd": "/x"}` + "\n":              "Claude Code",
		"2025-06-01 19:23:14.451 [info] ools: Handling CreateClient action\n":                 "Cursor",
		"2025-04-16 14:13:05.469 [info] 405 status sending message to http://localhost/sse\n": "VS Code without messages",
		"> 2025-09-09T04:44:01.000Z [weather] [info] Initializing server...\n":                "Claude Desktop in quotation",
		"* Connected to localhost (127.0.0.1) port 3000\n> POST /mcp HTTP/1.1\n":              "curl -v",
		"10:00:00.000001 IP localhost.1 > localhost.2: Flags [P.]\n":                          "tcpdump",
		"<!DOCTYPE html>\n<html>":                                                             "a web page",
		"listening on 3000\n":                                                                 "not a file that mcprec reads; mcprec import --help",
	} {
		if f, ok := foreign.Detect([]byte(text)); ok && want != "VS Code without messages" {
			t.Errorf("%.40q is taken for %s", text, f.Name)
		}
		err := foreign.Unknown([]byte(text)).Error()
		if !strings.Contains(err, want) || strings.Contains(err, "damaged") || want != "the file is empty" && !strings.Contains(err, "mcprec import --help") {
			t.Errorf("%.40q: %s, want %s", text, err, want)
		}
	}
}

// TestMessagesSides: which end wrote a message without a mark, or with one.
func TestMessagesSides(t *testing.T) {
	const (
		hello   = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
		welcome = `{"jsonrpc":"2.0","id":0,"result":{}}`
		ping    = `{"jsonrpc":"2.0","id":0,"method":"ping"}`
		roots   = `{"jsonrpc":"2.0","id":0,"method":"roots/list"}`
		log     = `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`
		broken  = `{"jsonrpc":"2.0","id":0,"result":NaN}`
	)
	for name, tt := range map[string]struct {
		text, format, want string
	}{
		"alone":                            {hello + "\n" + welcome + "\n" + roots + "\n" + welcome, "messages", "> < < >"},
		"in an array":                      {"[" + hello + "," + welcome + "," + log + "]", "messages", "> < <"},
		"on one line":                      {hello + welcome, "messages", "> <"},
		"a batch":                          {"[" + ping + "]\n" + welcome, "messages", "> <"},
		"an answer without its request":    {welcome + "\n" + ping, "messages", "< >"},
		"of the Agent Client Protocol":     {`{"jsonrpc":"2.0","id":0,"method":"session/prompt"}` + "\n" + `{"jsonrpc":"2.0","method":"session/update"}` + "\n" + `{"jsonrpc":"2.0","id":7,"method":"fs/read_text_file"}` + "\n" + `{"jsonrpc":"2.0","id":7,"result":{}}`, "messages", "> < < >"},
		"with a direction":                 {`{"dir":"s2c","msg":` + ping + `}` + "\n" + `{"dir":"c2s","msg":` + welcome + `}`, "messages", "< >"},
		"with a message in a text":         {`{"from":"client","payload":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"}`, "messages", ">"},
		"arrows":                           {"> " + hello + "\n< " + welcome, "transcript", "> <"},
		"long arrows":                      {"<-- " + hello + "\n--> " + welcome, "transcript", "> <"},
		"arrows of a server's author":      {"<= " + hello + "\n=> " + welcome + "\n=> " + ping + "\n<= " + welcome, "transcript", "> < < >"},
		"arrows, and pings alone":          {"→ " + ping + "\n← " + welcome, "transcript", "> <"},
		"a quotation of messages":          {"> " + hello + "\n> " + welcome, "transcript", "> <"},
		"an arrow before what is not JSON": {"> " + hello + "\n< " + broken + "\n", "transcript", "> <"},
		"LoggingTransport of a client":     {"write: " + hello + "\nread: " + welcome + "\n", "go-sdk-log", "> <"},
		"LoggingTransport of a server":     {"read: " + hello + "\nwrite: " + welcome + "\nread error: EOF\n", "go-sdk-log", "> <"},
	} {
		t.Run(name, func(t *testing.T) {
			f, ok := foreign.Detect([]byte(tt.text))
			if !ok || f.Name != tt.format {
				t.Fatalf("it is taken for %q", f.Name)
			}
			events, err := f.Decode([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			checkLog(t, events)
			var got []string
			for _, e := range framesIn(events) {
				got = append(got, map[string]string{"c2s": ">", "s2c": "<"}[e.Dir.String()])
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %s, want %s", strings.Join(got, " "), tt.want)
			}
		})
	}
	for text, format := range map[string]string{
		hello + "\n" + welcome + "\n" + hello + "\n":            "messages",
		"> " + hello + "\n< " + welcome + "\n> " + hello + "\n": "transcript",
	} {
		f, _ := foreign.Named(format)
		all, err := f.DecodeAll([]byte(text))
		if err != nil || len(all) != 2 || string(all[0][0].Payload) == string(all[1][0].Payload) {
			t.Errorf("%s: %d sessions, %v", format, len(all), err)
		}
	}
}
