//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

const (
	doorStdio = "019a0000-0000-7000-8000-00000000000a"
	doorHTTP  = "019a0000-0000-7000-8000-00000000000b"
)

// doorSecrets are planted in two sessions, each in one place.
var doorSecrets = map[string]string{
	"the command line": "argv-4f9a8b2c7d1e", "a word of the environment": "plain-env-words-91", "a URL": "userinfo-5d2e9c", "a label": "label-8c3f1a7e",
	"an argument": "hunter2-args", "a result": "ghp_0123456789abcdefghijABCDEFGHIJ012345", "a URI": "uri-key-77aa88bb", "standard error": "stderr-pw-31",
	"a note": "xoxb-1234567890-abcdefABCDEF", "a header": "x-api-key-5e4d3c", "a session's id": "0f1e2d3c4b5a69788796a5b4c3d2e1f0", "a query": "query-key-6b5a4c",
	"a lost event": "lost-pw-6e7d8c", "a body": "body-token-2c3d4e", "a body in base64": "raw-body-pw-9a8b", "a comment": "sse-token-1a2b3c4d", "a live message": "live-pw-9z8y7x",
}

// doorSessions are a session on stdio and one over HTTP.
func doorSessions() (stdio, overHTTP []store.Event) {
	c2s, s2c := transport.ClientToServer, transport.ServerToClient
	var list []store.Event
	add := func(kind store.Kind, dir transport.Direction, stream uint64, payload string) {
		for where, secret := range doorSecrets {
			payload = strings.ReplaceAll(payload, "{"+where+"}", secret)
		}
		list = append(list, store.Event{Seq: uint64(len(list) + 1), At: time.Duration(len(list)) * time.Millisecond, Kind: kind, Dir: dir, Stream: stream, Payload: []byte(payload)})
	}
	info := func(dir transport.Direction, i store.HTTPInfo) {
		add(store.HTTP, dir, 1, string(store.EncodePayload(i)))
	}
	said := func(stream uint64) {
		add(store.Frame, c2s, stream, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"login","arguments":{"password":"{an argument}"}}}`)
		add(store.Frame, s2c, stream, `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"with {a word of the environment} you get {a result}"}]}}`)
		add(store.Frame, s2c, stream, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"https://h/z?api_key={a URI}"}}`)
		add(store.Frame, c2s, stream, `{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"https://h/x?api_key={a URI}"}}`)
		add(store.Frame, s2c, stream, `{"jsonrpc":"2.0","id":3,"error":{"code":-32002,"message":"not found: https://h/x?api_key={a URI}"}}`)
		add(store.Frame, c2s, stream, `{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"https://h/y?api_key={a URI}"}}`)
	}
	add(store.Opened, 0, 0, string(store.Header{ID: doorStdio, Transport: "stdio", Labels: map[string]string{"note": "token={a label}"},
		Command: []string{"srv", "--api-key", "{the command line}"}}.Encode()))
	add(store.Frame, c2s, 0, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	add(store.Frame, s2c, 0, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`)
	add(store.Frame, c2s, 0, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	said(0)
	add(store.Frame, s2c, 0, `stray password="{standard error}"`)
	add(store.Stderr, s2c, 0, `ERROR password={standard error} of {the command line}`)
	add(store.Note, 0, 0, `the key is {a note}`)
	add(store.Lost, s2c, 0, string(store.EncodePayload(store.LostInfo{Frames: 1, Streams: []string{"s2c"}, Reason: "write s2c: password={a lost event}"})))
	add(store.Closed, 0, 0, string(store.EncodePayload(store.ClosedInfo{Frames: 9})))
	stdio, list = list, nil
	add(store.Opened, 0, 0, string(store.Header{ID: doorHTTP, Transport: "streamable-http", Label: "remote", URL: "http://u:{a URL}@h/mcp"}.Encode()))
	info(c2s, store.HTTPInfo{What: store.HTTPRequest, Method: "POST", Path: "/mcp?api_key={a query}",
		Header: map[string][]string{"Mcp-Session-Id": {"{a session's id}"}, "X-Api-Key": {"{a header}"}, "Content-Type": {"application/json"}}})
	said(1)
	info(s2c, store.HTTPInfo{What: store.HTTPEvent, SSE: &store.SSEInfo{Lines: []string{": token={a comment}"}}})
	info(s2c, store.HTTPInfo{What: store.HTTPBody, Body: `{"access_token":"{a body}"}`})
	info(s2c, store.HTTPInfo{What: store.HTTPBody, Body64: []byte("\xff password=" + doorSecrets["a body in base64"])})
	info(s2c, store.HTTPInfo{What: store.HTTPEnd, Error: "dial http://u:{a URL}@h/mcp"})
	add(store.Closed, 0, 0, string(store.EncodePayload(store.ClosedInfo{Frames: 5})))
	return stdio, list
}

// doors are lines of every command, by its name. S and H stand for the sessions of the store,
// F for a fixture of S with its secrets, G for that with other ones, N for one without any, O
// for a file to write, {URL} for that of a mcprec serve of G over HTTP. A line with --listen has
// a client. A line that begins with "wire" may say secrets on standard output, which is the
// protocol's.
var doors = map[string][]string{
	"list":   {"list", "list --format json", "list 019a", "list --wide", "list --wide --format json", "list --filter tool:login", "list --filter tool:login|x --format json --since 999w"},
	"ps":     {"ps", "ps --format json --orphans"},
	"attach": {"help attach"}, // see attach_linux_test.go
	"stats":  {"stats", "stats --format json", "stats --by server", "stats --by server --format json"},
	"show": {"show S", "show H", "show F", "show --format json S", "show --format json H", "show --from 3 S", "show --pairs H", "show --format sequence S", "show --filter tool:login S", "show 019a",
		"show --http H", "show --body --color always S", "show --body=full --http H", "show --body --format json S", "show S #5", "show --format json H #6", "show S 12", "show --last 50 S", "show --last 50 --http --body H", "show --last 2 --format json F", "show -f --last 5 S"},
	"view":            {"view S", "view H", "view S G", "view --dir", "view -o O S", "view -o O H", "view -o O F"},
	"export":          {"export --dir c2s --format raw S", "export --dir s2c --format raw S", "export --dir stderr --format raw S", "export -o O H", "export -o O F", "export --salvage S", "export --filter tool:login S"},
	"import":          {"import G"},
	"mcp":             {"mcp"},
	"replay":          {"replay S", "replay --client notification-queue=0 H", "replay --format json S", "replay --format json --client single-threaded --server single-threaded --buffer 0 S"},
	"explored-server": {"explored-server @nobody"},
	"explore":         {"explore --orders 20 --client single-threaded --server single-threaded S", "explore --orders 20 --client single-threaded --server single-threaded -o O F", "explore --orders 5 --format json H"},
	"serve": {"wire serve S", "wire serve F", "wire serve --mode new_episodes N -- fakeserver echo", "wire serve --mode all O -- fakeserver echo",
		"wire serve --listen 127.0.0.1:0 S",
		"wire serve --listen 127.0.0.1:0 --mode new_episodes --target http://u:userinfo-5d2e9c@127.0.0.1:1/mcp?api_key=query-key-6b5a4c N"},
	"drive": {"drive S", "drive S -- mcprec serve G", "drive -v --format json F -- mcprec serve G", "drive --format junit H -- mcprec serve G", "drive -o O F -- mcprec serve G", "drive --update F -- mcprec serve G", "drive S -- fakeserver stderr password=live-pw-9z8y7x",
		"drive --timeout 1s --target {URL}?api_key=query-key-6b5a4c --header X-Api-Key:x-api-key-5e4d3c S", "drive --timeout 1s -v --format json --target {URL} H",
		"drive --timeout 1s --format junit -o O --target {URL} F", "drive --target http://u:userinfo-5d2e9c@127.0.0.1:1/mcp?api_key=query-key-6b5a4c S"},
	"ci": {"ci F", "ci F -- mcprec serve G", "ci --format json --baseline F G", "ci --junit O F -- mcprec serve G", "ci --sarif O F -- mcprec serve G",
		"ci --accept F -- mcprec serve G", "ci F -- fakeserver stderr password=live-pw-9z8y7x", "ci --timeout 1s --target {URL}?api_key=query-key-6b5a4c --header X-Api-Key:x-api-key-5e4d3c F"},
	"check":  {"check S", "check --format json H", "check --format junit S", "check --format sarif S", "check --schema S", "check --forbid-tool login --format junit S", "check --all", "check --all --format json"},
	"why":    {"why S", "why H", "why F", "why --format json S", "why --format json H", "why --after 0s F", "why --after 0s --format json H"},
	"buffer": {"buffer S", "buffer --format json H", "buffer F"},
	"bisect": {"help bisect"}, // see testdata/script/bisect.txtar
	"diff":   {"diff S G", "diff --format json F G", "diff --format junit S G", "diff --bytes S G", "diff S H"},
	"state":  {"state S", "state --format json H", "state --at 6 --diff 100% S", "state F", "state --first failures>0 S", "state --first failures>0 --format json F"},
	"store": {"store verify", "store verify S", "store verify F", "store repair", "store repair --dry-run", "store prune --keep 0 --older-than 1h --dry-run",
		"store prune --older-than 1h --format json", "store compact", "store size", "store size --format json", "store keep S"},
	"share":  {"help share"}, // see testdata/script/share.txtar
	"doctor": {"doctor"},
	"redact": {"redact --scan", "redact --scan --format json F", "redact -o O S", "redact -o O F", "redact --in-place H"},
	"rm":     {"rm S", "rm 019a"},
	"record": {"wire record -v -o O -- fakeserver echo", "wire record -v -o O --target {URL}?api_key=query-key-6b5a4c --listen 127.0.0.1:0",
		"wire record -v -o O --target http://u:userinfo-5d2e9c@127.0.0.1:1/mcp?api_key=query-key-6b5a4c --listen 127.0.0.1:0"},
	"demo":    {"demo"},
	"wrap":    {"wrap", "wrap --format json"}, // see testdata/script/wrap.txtar
	"unwrap":  {"unwrap"},
	"version": {"version"},

	"completion": {"completion bash"},
	"help":       {"help record", "__complete show 019a"},
}

// TestDoors holds that no secret of a session leaves the store by any command, to its output
// or to a file, that --secrets lets it, and that the store keeps it.
func TestDoors(t *testing.T) {
	for _, f := range exportFormats {
		if f.name != "raw" {
			doors["export"] = append(doors["export"], "export --format "+f.name+" S", "export --format "+f.name+" H")
		}
	}
	for _, cmd := range allCommands().Commands() {
		lines := doors[cmd.Name()]
		if len(lines) == 0 {
			t.Errorf("%s has no row in the table", cmd.Name())
		}
		if !ownDoor(cmd.Name()) {
			t.Run(cmd.Name(), func(t *testing.T) { checkDoors(t, lines) })
		}
	}
}

// TestOwnDoors is TestDoors of the commands that have processes of their own. They wait, for answers
// that do not come as well.
func TestOwnDoors(t *testing.T) {
	t.Parallel()
	for name, lines := range doors {
		if ownDoor(name) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				checkDoors(t, lines)
			})
		}
	}
}

// ownDoor reports whether the lines of a command run in processes of their own, with an environment of their own.
func ownDoor(name string) bool {
	return slices.Contains(needOwnProcess, name) || slices.Contains([]string{"view", "mcp", "drive", "ci"}, name)
}

// allCommands is the command with those that cobra adds.
func allCommands() *cobra.Command {
	root := newRoot(cli.Streams{})
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	return root
}

func checkDoors(t *testing.T, lines []string) {
	root := allCommands()
	shown := map[*cobra.Command]map[string]bool{} // by the commands that heed --secrets
	for _, line := range lines {
		for _, where := range passDoor(t, line) {
			t.Errorf("mcprec %s: the secret of %s comes out", line, where)
		}
		words := strings.Fields(strings.TrimPrefix(line, "wire "))
		cmd, rest, err := root.Find(words)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(strings.Fields(cmd.Annotations[heededMasks]), "secrets") {
			continue
		}
		if shown[cmd] == nil {
			shown[cmd] = map[string]bool{}
		}
		names := words[:len(words)-len(rest)]
		for _, where := range passDoor(t, strings.Join(slices.Concat(names, []string{"--secrets"}, rest), " ")) {
			shown[cmd][where] = true
		}
	}
	for cmd, places := range shown {
		if len(places) == 0 {
			t.Errorf("%s --secrets: nothing that is masked is shown", cmd.CommandPath())
		}
		if cmd.Name() == "export" && len(places) != len(doorSecrets)-1 { // all but the live one
			t.Errorf("export --secrets writes only %v", places)
		}
	}
}

// passDoor runs a line with a store of its own, and returns the places whose secrets are in
// what it says and writes.
func passDoor(t *testing.T, line string) (leaks []string) {
	dir := t.TempDir()
	stdio, overHTTP := doorSessions()
	home := filepath.Join(dir, "home")
	db, err := boltstore.Open(home, boltstore.Options{Sync: boltstore.SyncNone})
	if err != nil {
		t.Fatal(err)
	}
	for _, events := range [][]store.Event{stdio, overHTTP} {
		if _, err := session.Save(context.Background(), db, jsonl.Each(events)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	other := slices.Clone(stdio)
	for i := range other {
		p := bytes.ReplaceAll(other[i].Payload, []byte(doorSecrets["a result"]), []byte("another, and password="+doorSecrets["a live message"]))
		p = bytes.ReplaceAll(p, []byte(doorSecrets["an argument"]), []byte(doorSecrets["a live message"]))
		other[i].Payload = bytes.ReplaceAll(p, []byte(doorStdio), []byte("019b"+doorStdio[4:]))
	}
	words, out := strings.Fields(line), filepath.Join(dir, "out")
	exact := map[string][]byte{} // files that were given, and are as they were
	wire := words[0] == "wire"
	if wire {
		words = words[1:]
	}
	name := words[0]
	words = slices.Concat([]string{"mcprec"}, words)
	live := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"login","arguments":{"password":"` + doorSecrets["a live message"] + `"}}}`
	of := "{URL}" // of what listens; see serving
	if strings.Contains(line, of) {
		of = "{{URL}}"
	}
	if name == "view" && !slices.Contains(words, "-o") {
		words = slices.Concat([]string{"serving"}, words, []string{"--", "looking", of}, viewPaths())
	}
	if name == "mcp" {
		words = slices.Concat([]string{"asking"}, words, []string{"--", "S", "H"})
	}
	if slices.Contains(words, "--listen") {
		words = slices.Concat([]string{"serving"}, words, []string{"--", "saying", "POST", of, "", live})
	}
	if strings.Contains(line, "{URL}") {
		words = slices.Concat([]string{"serving", "mcprec", "serve", "--listen", "127.0.0.1:0", "G", "--"}, words)
	}
	for i, w := range words {
		events := map[string][]store.Event{"F": stdio, "G": other, "N": append([]store.Event{{Seq: 1, Kind: store.Opened, Payload: store.Header{ID: doorStdio, Transport: "stdio"}.Encode()}}, stdio[1:4]...)}[w]
		words[i] = map[string]string{"S": doorStdio, "H": doorHTTP, "O": filepath.Join(out, "new.jsonl"), "F": filepath.Join(out, "F.jsonl"), "G": filepath.Join(out, "G.jsonl"), "N": filepath.Join(out, "N.jsonl")}[w]
		if words[i] == "" {
			words[i] = w
		}
		if events != nil {
			writeDoor(t, words[i], events)
			exact[words[i]], _ = os.ReadFile(words[i])
		}
	}
	if err := os.MkdirAll(out, 0o700); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{"MCPREC_HOME": home, "DEPLOY_TOKEN": doorSecrets["a word of the environment"]}
	var stdin io.Reader
	if name != "replay" { // which refuses to be a client's server
		stdin = strings.NewReader(live + "\n")
	}
	var stdout, stderr []byte
	var code int
	if ownDoor(name) {
		stdout, stderr, code = ownProcess(t, environment, stdin, words...)
	} else {
		for key, value := range environment {
			t.Setenv(key, value)
		}
		stdout, stderr, code = inProcess(t, stdin, words[1:]...)
	}
	if code == cli.ExitUsage && !slices.Contains([]string{"drive", "rm", "show"}, name) {
		t.Errorf("mcprec %s: exit status %d\n%s", line, code, stderr)
	}
	said := stderr
	if !wire {
		said = append(said, stdout...)
	}
	err = filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if !bytes.Equal(b, exact[path]) {
			said = append(said, b...)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for where, secret := range doorSecrets {
		if bytes.Contains(said, []byte(secret)) || hasBase64(said, secret) {
			leaks = append(leaks, where)
		}
	}
	return leaks
}

// viewPaths are paths of the page of mcprec view that have all it tells of the sessions.
func viewPaths() (paths []string) {
	for _, of := range []string{"s=0", "s=1", "id=" + doorStdio} {
		for _, path := range []string{"session", "rows", "overview", "live", "findings", "why", "run?client=notification-queue=0", "find?filter=login"} {
			path += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]
			paths = append(paths, path+of)
		}
		for seq := range 15 {
			paths = append(paths, fmt.Sprintf("frame?seq=%d&%s", seq+1, of), fmt.Sprintf("state?at=%d&%s", seq+1, of))
		}
	}
	return append(paths, "sessions", "sessions?filter=tool:login", "diff", "options")
}

// hasBase64 reports whether a text has a secret in base64, wherever it begins in a group.
func hasBase64(text []byte, secret string) bool {
	for skip := range 3 {
		inner := secret[skip : len(secret)-(len(secret)-skip)%3]
		if bytes.Contains(text, []byte(base64.StdEncoding.EncodeToString([]byte(inner)))) {
			return true
		}
	}
	return false
}

func writeDoor(t *testing.T, path string, events []store.Event) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := session.Encode(&b, jsonl.Each(events)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRecordMasked holds that a store has no secret of a session that was recorded with
// --mask: one that ended, and one whose recorder was killed, which another process folds.
func TestRecordMasked(t *testing.T) {
	for _, kill := range []bool{false, true} {
		home := t.TempDir()
		c := newClient(t, os.Stderr, "record", "--store", home, "--mask", "--mask-key", "colour", "--", "fakeserver", "echo", "--api-key="+doorSecrets["the command line"])
		fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"password":%q,"colour":"ultramarine","note":%q}}}`+"\n", doorSecrets["an argument"], doorSecrets["the command line"])
		line, err := c.out.ReadString('\n')
		if err != nil || !strings.Contains(line, doorSecrets["an argument"]) {
			t.Errorf("the client hears %q, %v", line, err)
		}
		if kill {
			_ = c.cmd.Process.Kill()
		}
		c.in.Close()
		_ = c.cmd.Wait()
		mcprec(t, "list", "--store", home) // folds what is left
		if shown := mcprec(t, "list", "--store", home); !strings.Contains(shown, "(masked)") {
			t.Errorf("list:\n%s", shown)
		}
		said := mcprec(t, "export", "--store", home, "--secrets")
		for _, secret := range []string{doorSecrets["an argument"], "ultramarine", doorSecrets["the command line"]} {
			if strings.Contains(said, secret) {
				t.Errorf("killed: %v: the store has %s:\n%s", kill, secret, said)
			}
		}
		if spools, _ := filepath.Glob(filepath.Join(home, "spool", "*.log")); len(spools) > 0 {
			t.Errorf("left: %v", spools)
		}
		mcprec(t, "store", "verify", "--store", home)
	}
}
