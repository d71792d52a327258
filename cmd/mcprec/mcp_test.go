//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
)

// asking is an agent: it starts an MCP server, and prints the answers of all its tools about two
// sessions, its resources and its prompts:
//
//	asking SERVER [ARG]... -- ID ID
func asking() {
	dash := slices.Index(os.Args, "--")
	ctx := context.Background()
	server := exec.Command(os.Args[1], os.Args[2:dash]...)
	server.Stderr = os.Stderr
	client, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(ctx, &sdk.CommandTransport{Command: server}, nil)
	if err == nil {
		err = askAll(ctx, client, os.Args[dash+1], os.Args[dash+2])
	}
	if err == nil {
		err = client.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// askAll prints what a server says about two sessions. Results are not interpreted.
func askAll(ctx context.Context, client *sdk.ClientSession, id, other string) error {
	show := func(value any, err error) error {
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(value)
	}
	tools, err := client.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	called := map[string]bool{}
	for _, session := range []string{id, other} {
		calls := []struct {
			tool string
			args map[string]any
		}{
			{"why_stuck", map[string]any{"session": session}},
			{"why_stuck", nil},
			{"list_sessions", nil},
			{"get_session", map[string]any{"session": session, "bytes": 2048, "limit": 100}},
			{"check_session", map[string]any{"session": session}},
			{"diff_sessions", map[string]any{"a": id, "b": other}},
			{"state_at", map[string]any{"session": session}},
			{"search", map[string]any{"filter": "kind:message,stderr,note,http", "limit": 100}},
			{"explain_hang", map[string]any{"session": session, "client_model": "notification-queue=0"}},
		}
		for seq := range 5 {
			calls = append(calls, struct {
				tool string
				args map[string]any
			}{"get_event", map[string]any{"session": session, "seq": seq + 1}})
		}
		for _, c := range calls {
			called[c.tool] = true
			result, err := client.CallTool(ctx, &sdk.CallToolParams{Name: c.tool, Arguments: c.args})
			if err == nil && result.IsError {
				err = fmt.Errorf("%s %v: %s", c.tool, c.args, result.Content[0].(*sdk.TextContent).Text)
			}
			if err := show(result, err); err != nil {
				return err
			}
		}
		resource, err := client.ReadResource(ctx, &sdk.ReadResourceParams{URI: "mcprec://session/" + session})
		if err := show(resource, err); err != nil {
			return err
		}
	}
	for _, t := range tools.Tools {
		if !called[t.Name] {
			return fmt.Errorf("%s was not called", t.Name)
		}
	}
	resources, err := client.ListResources(ctx, nil)
	if err := show(resources, err); err != nil {
		return err
	}
	prompt, err := client.GetPrompt(ctx, &sdk.GetPromptParams{Name: "my_mcp_call_hangs"})
	return show(prompt, err)
}

// agentOf starts a command that is an MCP server, and returns a client of it.
func agentOf(t *testing.T, command ...string) *sdk.ClientSession {
	t.Helper()
	server := exec.Command(command[0], command[1:]...)
	server.Stderr = os.Stderr
	client, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: server}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("mcprec mcp ends: %v", err)
		}
	})
	return client
}

// textOf calls a tool and returns its text.
func textOf(t *testing.T, client *sdk.ClientSession, tool string, args map[string]any) string {
	t.Helper()
	result, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return result.Content[0].(*sdk.TextContent).Text
}

// TestMCPHangsNow: processes that hang, their recorder, and an agent that asks mcprec mcp why, which
// is recorded itself below a launcher that does not say what it is.
func TestMCPHangsNow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	play := filepath.Join(dir, "play")
	launcher := filepath.Join(dir, "launcher")
	if err := os.WriteFile(play, []byte("@\n> {\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"forecast\"}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(launcher, []byte("#!/bin/sh\nm=mcp\nmcprec $m --store \""+home+"\"\nexit $?\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	clock, err := newClock(filepath.Join(dir, "clock"))
	if err != nil {
		t.Fatal(err)
	}
	clocked := playClockVariable + "=" + filepath.Join(dir, "clock")
	recorder := exec.Command("mcprec", "record", "--store", home, "--label", "weather", "--", "stuckserver", "stdio", play, filepath.Join(dir, "done"))
	recorder.Env = append(os.Environ(), clocked)
	in, err := recorder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := recorder.StdoutPipe()
	if err == nil {
		err = recorder.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = recorder.Wait()
	}()
	lines, _ := os.ReadFile(play)
	end := &stdioEnd{who: '>', in: bufio.NewReader(out), out: in}
	end.play(readPlay(string(lines)), func() {})

	client := agentOf(t, "env", clocked, "mcprec", "record", "--store", home, "--", launcher)
	text := textOf(t, client, "why_stuck", nil)
	for !strings.Contains(text, ", live: stuck") {
		if t.Context().Err() != nil {
			t.Fatal(text)
		}
		clock.move(time.Second)
		text = textOf(t, client, "why_stuck", nil)
	}
	for _, want := range []string{"(weather), live: stuck", `for the server to answer tools/call "forecast"`, "Next: mcprec "} {
		if !strings.Contains(text, want) {
			t.Errorf("why_stuck says no %q:\n%s", want, text)
		}
	}
	said, _ := exec.Command("env", clocked, "mcprec", "why", "--store", home, "weather").Output() // it exits with 1
	words := func(text string) string { return anyDuration.ReplaceAllString(text, "T") }
	for line := range strings.Lines(string(said)) {
		if !strings.Contains(words(text), words(strings.TrimSpace(line))) {
			t.Errorf("why says %q, which why_stuck does not:\n%s", line, text)
		}
	}
	listed := textOf(t, client, "list_sessions", nil)
	if all := mcprec(t, "list", "--store", home); strings.Count(all, "\n") != 3 || strings.Count(listed, "live, stuck") != 1 || strings.Contains(listed, "launcher") {
		t.Errorf("the store has\n%s\nand list_sessions says\n%s", all, listed)
	}
	if found := textOf(t, client, "search", map[string]any{"text": "forecast"}); !strings.Contains(found, "1 event in 1 of 1 session") {
		t.Errorf("search: %s", found)
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(strings.Split(listed, "\n")[1], "| "), ";")
	if err := exec.Command("asking", "mcprec", "mcp", "--store", home, "--", id, id).Run(); err != nil {
		t.Errorf("every tool about the session that hangs: %v", err)
	}
}

// TestMCPSaysTheSame: what the tools say as data is what their commands print with --format json.
func TestMCPSaysTheSame(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	mcprec(t, "import", "--store", home, "../../fixtures/seed.jsonl", "../../fixtures/pysdk-594.jsonl", "../../fixtures/trpc-overtaken.jsonl", "../../fixtures/memory-2025-11-25.jsonl")
	client := agentOf(t, "mcprec", "mcp", "--store", home)
	var ids []string
	for line := range strings.Lines(mcprec(t, "list", "--store", home, "--format", "json")) {
		_, id, _ := strings.Cut(line, `"id":"`)
		ids = append(ids, id[:36])
	}
	for _, id := range ids {
		for _, row := range []struct {
			tool    string
			args    map[string]any
			in      string   // the member of the data that has the command's objects; "": the data is one
			without []string // members that the tool adds
			command string
		}{
			{"why_stuck", nil, "sessions", nil, "why"},
			{"get_session", map[string]any{"limit": 100, "bytes": 2048}, "events", nil, "show --body=full --format json"},
			{"get_event", map[string]any{"seq": 5}, "event", nil, "show --format json ID #5"},
			{"state_at", nil, "", []string{"session"}, "state"},
			{"state_at", map[string]any{"at": 5}, "", []string{"session"}, "state --at 5"},
			{"explain_hang", map[string]any{"client_model": "notification-queue=0"}, "", []string{"session"}, "replay --client notification-queue=0"},
			{"check_session", map[string]any{"limit": 100}, "findings", nil, "check"},
			{"check_session", nil, "", []string{"findings"}, "check"},
			{"diff_sessions", map[string]any{"a": id, "b": ids[0]}, "", nil, "diff ID " + ids[0]},
			{"list_sessions", nil, "sessions", []string{"requests", "errors", "hung"}, "list --wide --format json ID"},
			{"search", map[string]any{"filter": "kind:message", "since": "9999w", "limit": 100}, "events", []string{"session"}, "show --format json --filter kind:message"},
		} {
			args := map[string]any{}
			if row.tool != "diff_sessions" && row.tool != "list_sessions" && row.tool != "search" {
				args["session"] = id
			}
			for name, value := range row.args {
				args[name] = value
			}
			result, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: row.tool, Arguments: args})
			if err != nil || result.IsError {
				said, _ := json.Marshal(result)
				t.Fatalf("%s %v: %s, %v", row.tool, args, said, err)
			}
			answer := result.StructuredContent.(map[string]any)
			told := []any{answer["recorded_data"]}
			if row.in != "" {
				told = []any{told[0].(map[string]any)[row.in]}
				if list, isList := told[0].([]any); isList {
					told = list
				}
			}
			words := strings.Fields(row.command)
			if !slices.Contains(words, "ID") {
				words = append(words, "ID")
			}
			for i, word := range words {
				words[i] = strings.ReplaceAll(word, "ID", id)
			}
			words = append(words, "--store", home)
			if !slices.Contains(words, "--format") {
				words = append(words, "--format", "json")
			}
			out, errs, code := inProcess(t, nil, words...)
			if code > cli.ExitVerdict {
				t.Fatalf("%v: exit status %d\n%s", words, code, errs)
			}
			if row.tool == "list_sessions" || row.tool == "search" { // about every session
				told = slices.DeleteFunc(told, func(one any) bool {
					return one.(map[string]any)["id"] != any(id) && one.(map[string]any)["session"] != any(id)
				})
			}
			printed := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			switch {
			case row.tool == "check_session" && row.in == "":
				printed = printed[len(printed)-1:]
			case row.tool == "check_session":
				printed = printed[:len(printed)-1]
			case row.tool == "search": // it tells of some events of a session
				printed = printed[:min(len(told), len(printed))]
			}
			if len(told) != len(printed) || row.tool == "search" && len(told) == 0 || strings.Contains(fmt.Sprint(answer["more"]), "cut to") {
				t.Errorf("%s %v tells of %d, and mcprec %s of %d; %v", row.tool, args, len(told), row.command, len(printed), answer["more"])
				continue
			}
			for i, one := range told {
				for _, name := range row.without {
					delete(one.(map[string]any), name)
				}
				var want any
				if err := json.Unmarshal([]byte(printed[i]), &want); err != nil {
					t.Fatal(err)
				}
				if _, isCut := one.(map[string]any)["part"]; isCut { // it stands for the rest
					delete(one.(map[string]any), "part")
					delete(want.(map[string]any), "frame")
				}
				if !reflect.DeepEqual(one, want) {
					got, _ := json.Marshal(one)
					t.Errorf("%s %v:\n%s\nmcprec %s:\n%s", row.tool, args, got, strings.Join(words, " "), printed[i])
				}
			}
		}
	}
}

// TestMCPEnds: what was asked before the client's end, or before bytes that are no message, is
// answered. An end in the middle of a message is that of a client that was killed.
func TestMCPEnds(t *testing.T) {
	t.Parallel()
	var asked strings.Builder
	fmt.Fprintln(&asked, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	fmt.Fprintln(&asked, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i := range 20 {
		fmt.Fprintf(&asked, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"list_sessions"}}`+"\n", i+1)
	}
	for _, row := range []struct {
		rest  string
		code  int
		fault string // on standard error
	}{
		{"", 0, ""},
		{`{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"na`, 0, ""},
		{"junk\n", 3, "mcprec: mcp: read message 23 of standard input: invalid character 'j' looking for beginning of value; want a JSON-RPC message on each line\n"},
		{"{} {}\n", 3, "mcprec: mcp: read message 23 of standard input: invalid trailing data at the end of stream; want a JSON-RPC message on each line\n"},
		{"[]\n", 3, "mcprec: mcp: read message 23 of standard input: empty batch; want a JSON-RPC message on each line\n"},
	} {
		cmd := exec.Command("mcprec", "mcp", "--store", t.TempDir())
		cmd.Stdin = strings.NewReader(asked.String() + row.rest)
		var fault bytes.Buffer
		cmd.Stderr = &fault
		out, err := cmd.Output()
		if cmd.ProcessState.ExitCode() != row.code || fault.String() != row.fault || strings.Count(string(out), `"result"`) != 21 {
			t.Errorf("%q: %v, want exit code %d; %d answers, want 21; stderr %q, want %q", row.rest, err, row.code, strings.Count(string(out), `"result"`), fault.String(), row.fault)
		}
	}
}

// TestMCPDescribed: what describes mcprec mcp to registries and agents says what is so.
func TestMCPDescribed(t *testing.T) {
	t.Parallel()
	const schemaFile = "testdata/schema/mcp-server-2025-12-11.json"
	form, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	schema := validator(t, form)
	text, err := os.ReadFile("../../docs/agents/server.json")
	if err != nil {
		t.Fatal(err)
	}
	var described any
	if err := json.Unmarshal(text, &described); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(described); err != nil {
		t.Errorf("server.json: %v", err)
	}
	var server struct {
		Schema   string `json:"$schema"`
		Version  string
		Packages []struct{ Version string }
	}
	err = json.Unmarshal(text, &server)
	if err != nil || !bytes.Contains(form, []byte(`"$id": "`+server.Schema+`"`)) || server.Version != release || server.Packages[0].Version != release {
		t.Errorf("server.json has %+v, %v; the release is %s", server, err, release)
	}
	delete(described.(map[string]any), "description")
	if schema.Validate(described) == nil {
		t.Errorf("%s takes what has no description", schemaFile)
	}

	client := agentOf(t, "mcprec", "mcp", "--store", t.TempDir())
	listed, err := client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	skill, err := os.ReadFile("../../docs/agents/mcprec/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	head := regexp.MustCompile(`^---\nname: mcprec\ndescription: (.+)\n---\n`).FindSubmatch(skill)
	if head == nil || len(head[1]) > 1024 {
		t.Errorf("SKILL.md begins %.200s", skill)
	}
	page, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range listed.Tools {
		if !bytes.Contains(skill, []byte("`"+tool.Name+"`")) {
			t.Errorf("SKILL.md does not name %s", tool.Name)
		}
		row := regexp.MustCompile("(?m)^\\| `" + tool.Name + "` \\| ([^|]*) \\|").FindSubmatch(page)
		if row == nil {
			t.Errorf("docs/agents.md has no row of %s", tool.Name)
			continue
		}
		var takes []string
		for name := range tool.InputSchema.(map[string]any)["properties"].(map[string]any) {
			takes = append(takes, "`"+name+"`")
		}
		said := strings.Split(string(row[1]), ", ")
		slices.Sort(said)
		slices.Sort(takes)
		if !slices.Equal(said, takes) {
			t.Errorf("docs/agents.md says that %s takes %v; it takes %v", tool.Name, said, takes)
		}
	}
}
