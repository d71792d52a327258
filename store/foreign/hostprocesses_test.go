package foreign_test

import (
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store/foreign"
)

// TestTwoProcesses: two processes of a server that write into one log are taken apart. A line of the table is a
// line of the log; a digit before it is the process that it is of.
func TestTwoProcesses(t *testing.T) {
	const (
		starts  = "Initializing server..."
		hello   = `Message from client: {"method":"initialize","params":{"protocolVersion":"2025-06-18"},"jsonrpc":"2.0","id":0}`
		welcome = `Message from server: {"jsonrpc":"2.0","id":0,"result":{}}`
		ready   = `Message from client: {"method":"notifications/initialized","jsonrpc":"2.0"}`
		lists   = `Message from client: {"method":"tools/list","jsonrpc":"2.0","id":1}`
		listed  = `Message from server: {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`
		calls   = `Message from client: {"method":"tools/call","params":{"name":"a"},"jsonrpc":"2.0","id":2}`
		called  = `Message from server: {"jsonrpc":"2.0","id":2,"result":{}}`
		changed = `Message from server: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
		closes  = "Client transport closed"
	)
	for name, tt := range map[string]struct {
		lines []string
		want  string // the frames of each session: the end, and the id or the method
	}{
		"the same twice": {
			[]string{starts, starts, hello, hello, welcome, welcome, ready, ready, lists, lists, listed, listed, changed, changed},
			">0 <0 >notifications/initialized >1 <1 <notifications/tools/list_changed|>0 <0 >notifications/initialized >1 <1 <notifications/tools/list_changed",
		},
		"one goes on alone": {
			[]string{starts, starts, hello, hello, welcome, welcome, ready, lists, listed, ready, lists, listed, calls, called},
			">0 <0 >notifications/initialized >1 <1 >2 <2|>0 <0 >notifications/initialized >1 <1",
		},
		"the second answers late": {
			[]string{starts, starts, hello, hello, welcome, ready, lists, listed, welcome, ready},
			">0 <0 >notifications/initialized >1 <1|>0 <0 >notifications/initialized",
		},
		"the first closes": {
			[]string{starts, starts, hello, hello, welcome, welcome, closes, "Server transport closed", ready, lists, listed},
			">0 <0|>0 <0 >notifications/initialized >1 <1",
		},
		"a restart is no second process": {
			[]string{starts, hello, starts, hello, welcome, ready},
			">0|>0 <0 >notifications/initialized",
		},
		"two starts, and one handshake": {
			[]string{starts, starts, hello, welcome, ready},
			">0 <0 >notifications/initialized",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			for i, line := range tt.lines {
				text.WriteString("2025-09-09T04:44:" + string(rune('0'+i/10)) + string(rune('0'+i%10)) + ".000Z [weather] [info] " + line + " { metadata: undefined }\n")
			}
			f, ok := foreign.Detect([]byte(text.String()))
			if !ok {
				t.Fatal("it is no log")
			}
			all, err := f.DecodeAll([]byte(text.String()))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, events := range all {
				checkLog(t, events)
				var frames []string
				for _, e := range framesIn(events) {
					word := map[string]string{"c2s": ">", "s2c": "<"}[e.Dir.String()]
					messages, _ := e.AsFrame().Messages()
					if frames = append(frames, word+string(messages[0].ID)); messages[0].ID == nil {
						frames[len(frames)-1] = word + messages[0].Method
					}
				}
				got = append(got, strings.Join(frames, " "))
			}
			if strings.Join(got, "|") != tt.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), tt.want)
			}
		})
	}
}

// TestHostReadsNoJSON: what a host says that it could not read is a line of the server.
func TestHostReadsNoJSON(t *testing.T) {
	const claude, code = "2025-09-09T04:44:01.000Z [weather] [error] ", "2026-07-24 02:03:14.120 [warning] "
	const message = "2025-09-09T04:44:01.000Z [weather] [info] Message from client: {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}\n"
	const editor = "2026-07-24 02:03:14.120 [debug] [editor -> server] {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}\n"
	for line, want := range map[string]string{
		message + claude + `Unexpected token 'd', "[dotenv@17."... is not valid JSON {`:                  "[dotenv@17.",
		message + claude + `Unexpected token 'S', "Server up" is not valid JSON { metadata: undefined }`: "Server up",
		message + claude + `SyntaxError: Unexpected token S in JSON at position 0`:                       "S",
		message + claude + `Unexpected end of JSON input`:                                                "",
		editor + code + `Failed to parse message: "Starting \"weather\""`:                                `Starting "weather"`,
		editor + code + `Unexpected token 'S', "Starting s"... is not valid JSON`:                        "Starting s",
	} {
		f, _ := foreign.Detect([]byte(line))
		events, err := f.Decode([]byte(line + "\n"))
		if err != nil {
			t.Fatal(line, err)
		}
		got := ""
		if frames := framesIn(events); len(frames) > 1 {
			got = string(frames[1].Payload)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
