package node

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/external"
	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/store"
)

// passOn makes the test binary what a client under test starts as its server.
const passOn = "pass-on"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == passOn {
		fmt.Fprintln(os.Stderr, child.PassOn(os.Args[2]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestLostUpdates is https://github.com/modelcontextprotocol/servers/issues/2579: each call reads the
// file, changes the graph and writes the file, and no lock is around the three.
func TestLostUpdates(t *testing.T) {
	run(t, "server-memory 2579 lost updates", "@modelcontextprotocol/server-memory", func(dir string) zoo.Process {
		return zoo.Process{
			Explore: server(external.Server{
				Command: []string{"node", filepath.Join(dir, "node_modules/@modelcontextprotocol/server-memory/dist/index.js")},
				Env:     []string{"MEMORY_FILE_PATH=%DIR/memory.jsonl"},
			}),
			Session: "testdata/memory.jsonl",
			Want:    external.NotSerial,
			Says:    []string{"tools/call read_graph (#9) is answered by"},
		}
	})
}

// TestCallBeforeRoots is https://github.com/modelcontextprotocol/servers/issues/3204: the server asks for
// the client's roots when it is initialized, and judges a call that comes before them by its own folders.
func TestCallBeforeRoots(t *testing.T) {
	run(t, "server-filesystem 3204 call first", "@modelcontextprotocol/server-filesystem", func(dir string) zoo.Process {
		project, err := filepath.EvalSymlinks(t.TempDir())
		if err == nil {
			err = os.WriteFile(filepath.Join(project, "a.txt"), []byte("hello\n"), 0o666)
		}
		session := filepath.Join(t.TempDir(), "session.jsonl")
		text, readErr := os.ReadFile("testdata/filesystem.jsonl")
		if err == nil && readErr == nil {
			err = os.WriteFile(session, bytes.ReplaceAll(text, []byte("/project"), []byte(project)), 0o666)
		}
		if err != nil || readErr != nil {
			t.Fatal(err, readErr)
		}
		return zoo.Process{
			Explore: server(external.Server{
				Command: []string{"node", filepath.Join(dir, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"), t.TempDir()},
				Folder:  project,
			}),
			Session: session,
			Want:    external.NotSerial,
			Says:    []string{"another answer than alone", "Access denied"},
		}
	})
}

// TestEndOfInput is https://github.com/modelcontextprotocol/typescript-sdk/pull/1613: the transport does
// not notice the end of its input, so that a server with a timer outlives its client.
func TestEndOfInput(t *testing.T) {
	run(t, "typescript-sdk 1613 end of input", "@modelcontextprotocol/server", func(dir string) zoo.Process {
		return zoo.Process{
			Explore: server(external.Server{Command: []string{"node", filepath.Join(dir, "eof.mjs")}}),
			Session: "testdata/eof.jsonl",
			Want:    external.Lingers,
			Says:    []string{"does not exit when its input closes"},
		}
	})
}

// TestCancelZero is https://github.com/modelcontextprotocol/typescript-sdk/issues/2283: a cancellation of
// the request 0 is taken for one without an id.
func TestCancelZero(t *testing.T) {
	run(t, "typescript-sdk 2283 cancel id 0", "@modelcontextprotocol/server", func(dir string) zoo.Process {
		return zoo.Process{
			Explore: server(external.Server{Command: []string{"node", filepath.Join(dir, "cancel.mjs")}}),
			Session: "testdata/cancel.jsonl",
			Want:    zoo.Unheeded,
			Says:    []string{"tools/call work (#5) was answered after it was cancelled"},
		}
	})
}

// TestProgressWithResult is https://github.com/modelcontextprotocol/typescript-sdk/issues/2580: progress
// that is read together with the result of its call is lost.
func TestProgressWithResult(t *testing.T) {
	run(t, "typescript-sdk 2580 one chunk", "@modelcontextprotocol/client", func(dir string) zoo.Process {
		return zoo.Process{
			Explore: client(dir, "client.mjs"),
			Session: "testdata/progress.jsonl",
			Want:    external.Different,
			Says:    []string{"progress 1 2\n", "arrive together"},
		}
	})
}

// TestUnreadErrors is https://github.com/modelcontextprotocol/typescript-sdk/issues/2776: nobody reads the standard error
// of a server that is started with stderr: 'pipe', so that the server waits in a write there. It hangs until the
// client's own limit for a request.
func TestUnreadErrors(t *testing.T) {
	run(t, "typescript-sdk 2776 unread stderr", "@modelcontextprotocol/client", func(dir string) zoo.Process {
		return zoo.Process{
			Explore: client(dir, "unread.mjs"),
			Session: "testdata/progress.jsonl",
			Want:    external.Hang,
			Says:    []string{"it does not read its server's standard error"},
			Orders:  12,
		}
	})
}

// TestUpdateWithAnswer is https://github.com/agentclientprotocol/typescript-sdk/issues/143: an update that is read
// together with the answer to session/new is handled before the caller has the session.
func TestUpdateWithAnswer(t *testing.T) {
	run(t, "acp typescript-sdk 143 one chunk", "@agentclientprotocol/sdk", func(dir string) zoo.Process {
		return editor(dir, "editor.mjs", `end_turn: "one two three", 0 commands`)
	})
}

// TestEndOfTextLost is docs/bugs/acp-answer-overtakes-updates: a prompt's answer that is read together with its last
// updates ends the prompt before their handlers have run.
func TestEndOfTextLost(t *testing.T) {
	run(t, "acp typescript-sdk 2.4 end of text", "acp-newest", func(dir string) zoo.Process {
		p := editor(dir, "editor2.mjs", "end_turn: ")
		p.Orders = 15
		return p
	})
}

// editor explores a client of the Agent Client Protocol.
func editor(dir, program, says string) zoo.Process {
	return zoo.Process{
		Explore: client(dir, program),
		Session: "testdata/agent.jsonl",
		Want:    external.Different,
		Says:    []string{says, "arrive together"},
	}
}

// client returns what plays a session to a client, whose program is in a folder.
func client(dir, program string) func([]store.Event, external.Options) (external.Report, error) {
	client := external.Client{Command: []string{"node", filepath.Join(dir, program), "%SERVER"}, PassOn: []string{os.Args[0], passOn}}
	return func(events []store.Event, options external.Options) (external.Report, error) {
		return external.ExploreClient(client, events, options)
	}
}

// server returns what plays a session to a server.
func server(server external.Server) func([]store.Event, external.Options) (external.Report, error) {
	return func(events []store.Event, options external.Options) (external.Report, error) {
		return external.Explore(server, events, options)
	}
}

// run explores a case at the release that is installed. With the build tag fixed nothing must be found,
// and packages without such a release have an empty row.
func run(t *testing.T, name, pkg string, process func(dir string) zoo.Process) {
	t.Helper()
	dir := installed(t)
	module := release(t, dir, pkg)
	if module == "" {
		zoo.Row{Bug: name}.Add(t)
		return
	}
	p := process(dir)
	p.Name = name
	p.Release = module
	if manifest != "package.json" {
		p.Want, p.Says = "", nil
	}
	p.Run(t)
}
