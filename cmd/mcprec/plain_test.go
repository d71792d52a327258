package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// evil is what a peer could put into any text: sequences that clear the screen and set
// the title, a bell, C1, marks of direction, a forged line.
const evil = "\x1b[2J\x1b]0;x\x07\u009b31m\u202ex\u2066y\ufeff\r\x7f\u2028\U000E0001\nFORGED"

func hostileEvents(t *testing.T) []store.Event {
	t.Helper()
	quoted, _ := json.Marshal(evil) // escapes the C0, not the rest
	q := string(quoted)
	list := []store.Event{{Kind: store.Opened, Payload: store.Header{
		ID: "019a0000-0000-7000-8000-000000000000", Transport: "stdio" + evil, Label: evil, Command: []string{"server", evil},
	}.Encode()}}
	add := func(kind store.Kind, dir transport.Direction, payload string) {
		list = append(list, store.Event{Kind: kind, Dir: dir, Payload: []byte(payload)})
	}
	c2s, s2c := transport.ClientToServer, transport.ServerToClient
	add(store.Frame, c2s, `{"id":1,"method":"initialize","params":{"protocolVersion":`+q+`,"clientInfo":{"name":`+q+`,"version":`+q+`},"capabilities":{`+q+`:{}}}}`)
	add(store.Frame, s2c, `{"id":1,"result":{"protocolVersion":`+q+`,"serverInfo":{"name":`+q+`},"capabilities":{"tools":{`+q+`:1}}}}`)
	add(store.Frame, c2s, `{"id":`+q+`,"method":"tools/call","params":{"name":`+q+`,"_meta":{"progressToken":`+q+`}}}`)
	add(store.Frame, s2c, `{"method":"notifications/progress","params":{"progressToken":`+q+`,"message":`+q+`,"progress":1}}`)
	add(store.Frame, s2c, `{"id":7,"method":`+q+`,"params":{"uri":`+q+`}}`)
	add(store.Frame, s2c, `{"id":`+q+`,"error":{"code":1,"message":`+q+`}}`)
	add(store.Frame, s2c, `{"id":`+q+`,"result":{}}`)
	add(store.Frame, s2c, `{"method":`+q+`,"params":{"taskId":`+q+`,"status":`+q+`}}`)
	add(store.Frame, s2c, evil+"\xff\xc2")
	add(store.Stderr, s2c, evil)
	add(store.Note, 0, evil)
	add("invented", s2c, evil)
	add(store.Frame, c2s, `{"id":2,"method":"tools/call","params":{"name":`+q+`}}`)
	add(store.Frame, c2s, `{"method":"notifications/cancelled","params":{"requestId":2,"reason":`+q+`}}`)
	http := func(info store.HTTPInfo) { add(store.HTTP, s2c, string(store.EncodePayload(info))) }
	http(store.HTTPInfo{What: store.HTTPRequest, Method: "POST" + evil, Path: evil, Header: map[string][]string{evil: {evil}}})
	http(store.HTTPInfo{What: store.HTTPResponse, Status: 404, Body: evil, SSE: &store.SSEInfo{Event: evil, ID: evil}})
	http(store.HTTPInfo{What: evil, Error: evil})
	add(store.Lost, 0, string(store.EncodePayload(store.LostInfo{Frames: 1, Reason: evil})))
	add(store.EOF, s2c, string(store.EncodePayload(store.EOFInfo{By: "sender" + evil, Error: evil})))
	add(store.Exited, 0, string(store.EncodePayload(store.ExitInfo{Code: -1, Signal: evil})))
	add(store.Closed, 0, string(store.EncodePayload(store.ClosedInfo{Frames: 10})))
	for i := range list {
		list[i].Seq, list[i].At = uint64(i+1), time.Duration(i)*time.Millisecond
	}
	return list
}

// runLine runs a command line and returns what it prints.
func runLine(t *testing.T, args ...string) (out, errs string) {
	t.Helper()
	files := [2]*os.File{}
	for i := range files {
		f, err := os.CreateTemp(t.TempDir(), "out")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	run(t.Context(), args, cli.Streams{In: in, Out: files[0], Err: files[1]})
	var texts [2]string
	for i, f := range files {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(b)
	}
	return texts[0], texts[1]
}

// TestHostileTexts: whatever the ends of a session are called and say, no command
// hands a terminal anything but characters that are seen, and no peer writes a line.
func TestHostileTexts(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MCPREC_HOME", filepath.Join(dir, "home"))
	path := filepath.Join(dir, "evil.jsonl")
	var text bytes.Buffer
	enc := jsonl.NewEncoder(&text)
	for _, e := range hostileEvents(t) {
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	runLine(t, "import", path)
	typed := strings.ReplaceAll(evil, "\n", "") // what the user's own words have, they have typed
	for _, line := range []string{
		"list", "show", "show --format json", "show --last 10", "check", "check --format json", "check --format junit", "check --format sarif",
		"state", "state --at 6", "state --format json", "state --at 2 --diff 100%", "state --first exit==\"x\"", "state --first failures>0",
		"store verify", "replay", "replay --client notification-queue=0 --server blocking-handlers", "replay --format json", "explore --orders 3", "explore --format json --orders 3",
		"show --filter " + typed, "show " + typed, "show --from " + typed, "show --format " + typed, typed, "show --filter \"FORGED\"", "show --format sequence", "export --format mermaid", "export --format text", "export --format har", "export --format otlp", "show --pairs --color always --filter kind:messages", "rm 019b" + typed,
		"buffer " + path, "diff " + path + " ../../fixtures/seed.jsonl", "diff --format json " + path + " ../../fixtures/seed.jsonl", "redact --scan " + path, "serve " + path, "drive " + path, "drive " + path + " -- go version", "import " + path + typed, "show " + path + typed, "show --last 10 --pairs " + typed,
	} {
		args := strings.Split(line, " ")
		out, errs := runLine(t, args...)
		if out+errs == "" {
			t.Errorf("%q prints nothing", line)
		}
		for _, s := range []string{out, errs} {
			if fault := unplain(s); fault != "" {
				t.Errorf("%q: %s", line, fault)
			}
		}
	}
}

// TestHostileFileName: a file's name, as a shell finds it, cannot forge a line either.
func TestHostileFileName(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MCPREC_HOME", filepath.Join(dir, "home"))
	whole, err := os.ReadFile("../../fixtures/seed.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"whole\nFORGED": whole, "broken\nFORGED": whole[:len(whole)/2]} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"show", "check", "store verify", "buffer", "diff", "replay", "redact", "import"} {
			args := append(strings.Fields(command), path)
			switch command {
			case "diff":
				args = append(args, "../../fixtures/seed.jsonl")
			case "redact":
				args = append(args, "--scan")
			}
			out, errs := runLine(t, args...)
			if fault := unplain(out + errs); fault != "" {
				t.Errorf("%q: %s", args, fault)
			}
		}
	}
}

// Joiners are not graphic, but languages and emoji are written with them.
const nonJoiner, joiner = '\u200c', '\u200d'

// unplain says what is wrong with a text for a terminal.
func unplain(s string) string {
	if !utf8.ValidString(s) {
		return "not UTF-8"
	}
	for i, l := range strings.Split(s, "\n") {
		if strings.HasPrefix(strings.TrimLeft(l, " \t"), "FORGED") {
			return fmt.Sprintf("line %d is the peer's: %q", i+1, l)
		}
		if at := strings.IndexFunc(l, func(r rune) bool { return r != '\t' && !unicode.IsGraphic(r) && r != nonJoiner && r != joiner }); at >= 0 {
			return fmt.Sprintf("line %d has %q", i+1, l[at:min(at+12, len(l))])
		}
	}
	return ""
}

// TestLongName: the name of a call without an answer is cut.
func TestLongName(t *testing.T) {
	long := strings.Repeat("x", 5<<20)
	events := []store.Event{{Seq: 2, Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte(`{"id":1,"method":"tools/call","params":{"name":"` + long + `"}}`)}}
	if text := session.Unanswered(events); len(text) > 200 || !strings.HasPrefix(text, "#2 tools/call xxx") {
		t.Errorf("%d bytes: %.100s", len(text), text)
	}
}
