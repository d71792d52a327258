package foreign_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/foreign"
)

const (
	claudeInit   = `Message from client: {"method":"initialize","params":{},"jsonrpc":"2.0","id":0}`
	claudeCall   = `Message from client: {"method":"tools/call","params":{"name":"a"},"jsonrpc":"2.0","id":1}`
	claudeAnswer = `Message from server: {"jsonrpc":"2.0","id":1,"result":{}}`
)

// hostLogs are logs by lines, and what each becomes: a word an event, a session a line. A line
// that begins with = has the time of the day and then the line; its day and zone are added.
var hostLogs = []struct {
	name, format string
	lines        []string
	want         []string
}{
	{"one run", "claude-desktop-log", []string{
		"=10:00:00.000Z [fs] [info] Initializing server...",
		"=10:00:00.001Z [fs] [info] " + claudeInit,
		"=10:00:00.002Z [fs] [info] Client transport closed",
	}, []string{"fs 10:00:00.000: note note c2s eof closed"}},
	{"a server started again", "claude-desktop-log", []string{
		"=10:00:00.000Z [fs] [info] Initializing server...",
		"=10:00:00.001Z [fs] [info] " + claudeInit,
		"=10:00:00.002Z [fs] [info] Server transport closed",
		"=10:00:00.003Z [fs] [error] Server disconnected.",
		"=10:00:00.004Z [fs] [info] Client transport closed",
		"=10:01:00.000Z [fs] [info] Initializing server...",
		"=10:01:00.001Z [fs] [info] " + claudeInit,
	}, []string{"fs 10:00:00.000: note note c2s eof note eof closed", "fs 10:01:00.000: note note c2s"}},
	{"a server that failed to start twice before it ran", "claude-desktop-log", []string{
		"=10:00:00.000Z [fs] [info] Initializing server...",
		"=10:00:00.001Z [fs] [error] spawn npx ENOENT",
		"=10:00:01.000Z [fs] [info] Initializing server...",
		"=10:00:01.001Z [fs] [info] " + claudeInit,
	}, []string{"fs 10:00:00.000: note note note note c2s"}},
	{"a second initialize, and no end of the first run", "claude-desktop-log", []string{
		"=10:00:00.001Z [fs] [info] " + claudeInit,
		"=10:00:00.002Z [fs] [info] " + claudeInit,
	}, []string{"fs 10:00:00.001: note c2s", "fs 10:00:00.002: note note c2s"}},
	{"the log of all servers", "claude-desktop-log", []string{
		"=10:00:00.000Z [info] Attempting to connect to MCP servers",
		"=10:00:00.001Z [info] [fs] " + claudeInit,
		"=10:00:00.002Z [info] [git (new)] " + claudeInit,
		"=10:00:00.003Z [info] [fs] " + claudeCall,
		"=10:00:00.004Z [info] Connected to MCP server git!",
		"=10:00:00.005Z [info] [git (new)] " + claudeCall + " { metadata: { a: 1 } }",
		"=10:00:00.006Z [info] [fs] " + claudeAnswer + " {",
		"  metadata: { a: 1 }",
		"}",
	}, []string{"fs 10:00:00.001: note note c2s c2s note s2c note", "git (new) 10:00:00.002: note c2s c2s"}},
	{"begins in the middle of a line", "claude-desktop-log", []string{
		`"id":7,"result":{}}`,
		"=10:00:00.001Z [fs] [info] " + claudeAnswer,
	}, []string{"fs 10:00:00.001: note note s2c"}},
	{"a message that the host cut, and one cut by the end of the file", "claude-desktop-log", []string{
		`=10:00:00.001Z [fs] [info] Message from server: {"id":1,"result":{"a":"b...[9 chars truncated]`,
		`=10:00:00.002Z [fs] [info] Message from server: {"id":1,"res`,
	}, []string{"fs 10:00:00.001: note lost note lost note"}},
	{"standard error that looks like more", "claude-desktop-log", []string{
		"=10:00:00.001Z [fs] [info] " + claudeInit,
		"{",
		"}",
		"",
		"2026-08-01 a line with a time of its own",
		"=10:00:00.002Z [fs] [info] " + claudeAnswer,
	}, []string{"fs 10:00:00.001: note c2s stderr stderr stderr stderr s2c"}},
	{"a time that goes back", "claude-desktop-log", []string{
		"=10:00:00.002Z [fs] [info] " + claudeCall,
		"=10:00:00.001Z [fs] [info] " + claudeAnswer,
	}, []string{"fs 10:00:00.002: note c2s note s2c"}},
	{"the first words of VS Code for a message", "vscode-log", []string{
		`=10:00:00.001 [info] [Client Says] {"jsonrpc":"2.0","id":1,"method":"initialize"}`,
		`=10:00:00.002 [info] [Server Says] {"jsonrpc":"2.0","id":1,"result":{}}`,
	}, []string{" 10:00:00.001: note c2s s2c"}},
	{"VS Code starts a server again", "vscode-log", []string{
		"=10:00:00.000 [info] Starting server fs",
		"=10:00:00.000 [info] Connection state: Starting",
		`=10:00:00.001 [debug] [editor -> server] {"jsonrpc":"2.0","id":1,"method":"initialize"}`,
		"=10:00:00.002 [info] Connection state: Error Process exited with code 1",
		"=10:00:00.003 [error] Server exited before responding to `initialize` request.",
		"    at a.js:1",
		"=10:01:00.000 [info] Connection state: Starting",
		`=10:01:00.001 [debug] [editor -> server] {"jsonrpc":"2.0","id":1,"method":"initialize"}`,
		"=10:01:00.002 [info] Connection state: Stopped",
		"=10:02:00.000 [info] Starting server fs",
		`=10:02:00.001 [trace] [server -> editor] {"jsonrpc":"2.0","method":"notifications/message"}`,
	}, []string{"fs 10:00:00.000: note note note c2s exit note closed", "fs 10:01:00.000: note note c2s note closed", "fs 10:02:00.000: note note s2c"}},
}

// hostLog returns the text of a log.
func hostLog(format string, lines []string, end string) []byte {
	day := map[string]string{"claude-desktop-log": "2026-08-01T", "vscode-log": "2026-08-01 "}[format]
	var b strings.Builder
	for _, line := range lines {
		if after, ok := strings.CutPrefix(line, "="); ok {
			line = day + after
		}
		b.WriteString(line + end)
	}
	return []byte(b.String())
}

// eventWords says what each event is, without the first.
func eventWords(t *testing.T, events []store.Event) string {
	header, err := store.ParseHeader(events[0].Payload)
	if err != nil {
		t.Fatal(err)
	}
	words := header.Label + header.Start.Format(" 15:04:05.000") + ":"
	for _, e := range events[1:] {
		if e.Kind == store.Frame {
			words += " " + e.Dir.String()
			continue
		}
		words += " " + string(e.Kind)
	}
	return words
}

// TestHostLogs holds which sessions are in the logs of hosts, also with other line ends.
func TestHostLogs(t *testing.T) {
	for _, row := range hostLogs {
		t.Run(row.name, func(t *testing.T) {
			for _, text := range [][]byte{
				hostLog(row.format, row.lines, "\n"),
				hostLog(row.format, row.lines, "\r\n"),
				append([]byte("\ufeff"), hostLog(row.format, row.lines, "\n")...),
				bytes.TrimSuffix(hostLog(row.format, row.lines, "\n"), []byte("\n")),
			} {
				f, ok := foreign.Detect(text)
				if !ok || f.Name != row.format {
					t.Fatalf("taken for %q", f.Name)
				}
				all, err := f.DecodeAll(text)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, events := range all {
					checkLog(t, events)
					got = append(got, eventWords(t, events))
				}
				if fmt.Sprint(got) != fmt.Sprint(row.want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(row.want, "\n"))
				}
			}
		})
	}
}

// TestHostLogGrows: the sessions of a log that were over keep their events and their ids when it
// has grown.
func TestHostLogGrows(t *testing.T) {
	for _, row := range hostLogs {
		f, err := foreign.Named(row.format)
		if err != nil {
			t.Fatal(err)
		}
		text := hostLog(row.format, row.lines, "\n")
		all, err := f.DecodeAll(text)
		if err != nil {
			t.Fatal(err)
		}
		more := []string{"=11:00:00.000Z [fs] [info] Initializing server...", "=11:00:00.001Z [fs] [info] " + claudeInit}
		if row.format == "vscode-log" {
			more = []string{"=11:00:00.000 [info] Starting server fs", `=11:00:00.001 [debug] [editor -> server] {"id":1}`}
		}
		grown, err := f.DecodeAll(append(text, hostLog(row.format, more, "\n")...))
		if err != nil || len(grown) != len(all)+1 {
			t.Fatalf("%s: %d sessions, then %d, %v", row.name, len(all), len(grown), err)
		}
		for i := range all {
			if !bytes.Equal(all[i][0].Payload, grown[i][0].Payload) || len(all[i]) != len(grown[i]) {
				t.Errorf("%s: session %d changed", row.name, i+1)
			}
		}
	}
}

// TestHostLogRefuses holds what is said of logs without a session, or with several where one is
// wanted.
func TestHostLogRefuses(t *testing.T) {
	again := hostLogs[1]
	for _, c := range []struct {
		format string
		text   []byte
		want   string
	}{
		{again.format, hostLog(again.format, again.lines, "\n"), "line 6: 2 sessions of fs: want one session in a file; mcprec import makes a session of each"},
		{"vscode-log", hostLog("vscode-log", []string{"=10:00:00.000 [info] Connection state: Running", "=10:00:00.001 [info] Discovered 3 tools"}, "\n"),
			"no message between a client and a server is in it; VS Code writes them at the level debug"},
		{"claude-desktop-log", nil, "the file is empty"},
	} {
		f, err := foreign.Named(c.format)
		if err != nil {
			t.Fatal(err)
		}
		events, err := f.Decode(c.text)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || !isRefusal(err) || events != nil {
			t.Errorf("%s: %v, want %s", c.format, err, c.want)
		}
	}
	for _, text := range []string{
		"2026-08-01 10:00:00.000 [info] started\n", "2026-08-01T10:00:00.000Z [app] [info] Listening\n",
		`{"text":"2026-08-01T10:00:00.000Z [fs] [info] Initializing server..."}` + "\n",
	} {
		if f, ok := foreign.Detect([]byte(text)); ok {
			t.Errorf("%q is taken for %s", text, f.Name)
		}
	}
}
