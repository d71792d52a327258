package running

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/transport/procfs"
)

func reads(fd int, file string) procfs.Descriptor {
	return procfs.Descriptor{FD: fd, File: file, Reads: true}
}

func writes(fd int, file string) procfs.Descriptor {
	return procfs.Descriptor{FD: fd, File: file, Writes: true}
}

// both is an end of a pair of sockets.
func both(fd int, file string) procfs.Descriptor {
	return procfs.Descriptor{FD: fd, File: file, Reads: true, Writes: true}
}

// find returns what is found among processes, of which the configuration of a client names those called server.
func find(list []procfs.Seen) []Instance {
	otherEnds := map[string]string{"socket:[1]": "socket:[2]", "socket:[2]": "socket:[1]", "socket:[3]": "socket:[4]", "socket:[4]": "socket:[3]"}
	isOver := func(pid, fd, _ int) (procfs.Unread, error) {
		return procfs.Unread{IsOver: !slices.ContainsFunc(list, func(p procfs.Seen) bool {
			return slices.ContainsFunc(p.Pipes, func(d procfs.Descriptor) bool { return d.Writes && d.File == "pipe:[1]" }) || p.IsHidden
		})}, nil
	}
	t := newTable(list, func(name string) string { return otherEnds[name] }, isOver)
	return t.Find(Known{
		Configured: func(command []string) (string, string, bool) { return "fs", "cursor", command[0] == "server" },
		IsRecorder: func(command []string) bool { return command[0] == "mcprec" },
		Recording:  func(id procfs.ID) string { return map[string]string{"recorded": "0190"}[id.Birth] },
	})
}

func process(pid, parent int, command string, pipes ...procfs.Descriptor) procfs.Seen {
	return procfs.Seen{PID: pid, Parent: parent, Name: command, Command: []string{command}, Age: time.Duration(1000-pid) * time.Second, Pipes: pipes}
}

// The client of a server is who holds both other ends, behind launchers and recorders too; without one it is an orphan.
func TestFind(t *testing.T) {
	recorded := process(12, 11, "server", reads(0, "pipe:[3]"), writes(1, "pipe:[4]"))
	recorded.Birth = "recorded"
	for name, test := range map[string]struct {
		list    []procfs.Seen
		pid     int // of the server; 0: none is found
		client  int
		orphan  string
		session string
		started int
	}{
		"a client on pipes": {[]procfs.Seen{
			process(10, 1, "client", writes(5, "pipe:[1]"), reads(6, "pipe:[2]")),
			process(11, 10, "server", reads(0, "pipe:[1]"), writes(1, "pipe:[2]")),
		}, 11, 10, "", "", 1},
		"a client on sockets": {[]procfs.Seen{
			process(10, 1, "client", both(5, "socket:[2]"), both(6, "socket:[4]")),
			process(11, 10, "server", both(0, "socket:[1]"), both(1, "socket:[3]")),
		}, 11, 10, "", "", 1},
		"behind two launchers": {[]procfs.Seen{
			process(10, 1, "client", writes(5, "pipe:[1]"), reads(6, "pipe:[2]")),
			process(11, 10, "npx", reads(0, "pipe:[1]"), writes(1, "pipe:[2]")),
			process(12, 11, "sh", reads(0, "pipe:[1]"), writes(1, "pipe:[2]")),
			process(13, 12, "server", reads(0, "pipe:[1]"), writes(1, "pipe:[2]")),
			process(14, 13, "tool", reads(0, "pipe:[1]"), writes(1, "pipe:[9]")),
		}, 13, 10, "", "", 4},
		"a sibling has inherited the ends": {[]procfs.Seen{
			process(10, 1, "client", writes(5, "pipe:[1]"), reads(6, "pipe:[2]")),
			process(9, 10, "sibling", writes(5, "pipe:[1]"), reads(6, "pipe:[2]")),
			process(11, 10, "server", reads(0, "pipe:[1]"), writes(1, "pipe:[2]")),
		}, 11, 10, "", "", 1},
		"recorded": {[]procfs.Seen{
			process(10, 1, "client", writes(5, "pipe:[1]"), reads(6, "pipe:[2]")),
			process(11, 10, "mcprec", reads(0, "pipe:[1]"), writes(1, "pipe:[2]"), writes(5, "pipe:[3]"), reads(6, "pipe:[4]")),
			recorded,
		}, 12, 10, "", "0190", 1},
		"only a sibling keeps its input open": {[]procfs.Seen{
			process(9, 1, "sibling", writes(5, "pipe:[1]")),
			process(11, 1, "server", reads(0, "pipe:[1]"), writes(1, "pipe:[2]")),
		}, 11, 0, "only sibling (9)", "", 1},
		"it keeps its input open itself": {[]procfs.Seen{
			process(11, 1, "server", reads(0, "pipe:[1]"), writes(1, "pipe:[2]"), writes(7, "pipe:[1]")),
		}, 11, 0, "only its own process server (11)", "", 1},
		"nobody is there": {[]procfs.Seen{
			process(11, 1, "server", reads(0, "pipe:[1]"), writes(1, "pipe:[2]")),
		}, 11, 0, "nobody holds the other end of its input", "", 1},
		"the client has closed its input": {[]procfs.Seen{
			process(10, 1, "client", reads(6, "pipe:[2]")),
			process(11, 10, "server", reads(0, "pipe:[1]"), writes(1, "pipe:[2]")),
		}, 11, 0, "client (10) still reads its output", "", 1},
		"the client is another user's": {[]procfs.Seen{
			{PID: 10, Parent: 1, Name: "client", IsHidden: true},
			process(11, 10, "server", reads(0, "pipe:[1]"), writes(1, "pipe:[2]")),
		}, 11, 10, "", "", 1},
		"a terminal": {[]procfs.Seen{process(11, 1, "server", reads(0, "pipe:[1]"))}, 0, 0, "", "", 0},
		"another program": {[]procfs.Seen{
			process(10, 1, "shell", writes(5, "pipe:[1]"), reads(6, "pipe:[2]")),
			process(11, 10, "filter", reads(0, "pipe:[1]"), writes(1, "pipe:[2]")),
		}, 0, 0, "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			found := find(test.list)
			if test.pid == 0 {
				if len(found) > 0 {
					t.Errorf("%+v", found)
				}
				return
			}
			if len(found) != 1 {
				t.Fatalf("%d are found: %+v", len(found), found)
			}
			i := found[0]
			isOrphan := test.orphan != ""
			if i.PID != test.pid || i.Client.PID != test.client || isOrphan != (i.Orphan != "") || !strings.Contains(i.Orphan, test.orphan) ||
				i.Session != test.session || i.IsRecorded != (test.session != "") {
				t.Errorf("%+v", i)
			}
			if len(i.Started) < test.started {
				t.Errorf("processes: %v", i.Started)
			}
		})
	}
}

func TestIsRPC(t *testing.T) {
	for text, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}` + "\n":              true,
		`rest of one"}}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n":      true,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a very long on`: true,
		`{"id":1,"method":"ping"}` + "\n":                                                false,
		"Content-Length: 40\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"method":"shutdown"}`:    false,
		`{"jsonrpc":"2.0","id":1,"method":"textDocument/hover"}` + "\n":                  false,
		`a log line about "jsonrpc"` + "\n":                                              false,
		"":                                                                               false,
	} {
		if got := isRPC([]byte(text), true); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if isRPC([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`+"\n"+`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n"), false) {
		t.Error("a program that prints both sides is called a server")
	}
	if !isRPC([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`+"\n"), false) {
		t.Error("an answer is not seen")
	}
}

// TestPrograms: the file of a server tells itself from that of a client, and from a language server.
func TestPrograms(t *testing.T) {
	for text, want := range map[string]bool{
		"const r = { protocolVersion: v, serverInfo: { name } }":                                               true,
		"send({ protocolVersion: v, clientInfo: { name } }); print(result.serverInfo)":                         false,
		"initialize: { serverInfo, protocolVersion }, 'textDocument/didOpen'":                                  false,
		`import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"`:                                  true,
		`import "@modelcontextprotocol/sdk/server/mcp.js"; import "@modelcontextprotocol/sdk/client/index.js"`: false,
		`import { Server } from "@modelcontextprotocol/server"`:                                                true,
		"from mcp.server.fastmcp import FastMCP":                                                               true,
		"from fastmcp import FastMCP":                                                                          true,
		"from mcp import ClientSession, StdioServerParameters":                                                 false,
		"\x00github.com/modelcontextprotocol/go-sdk/mcp.(*Server).Run\x00":                                     true,
		"\x00github.com/modelcontextprotocol/go-sdk/mcp.(*Server).Run\x00textDocument/didOpen\x00":             false,
		"\x00github.com/mark3labs/mcp-go/server.(*StdioServer).Listen\x00":                                     true,
		"grep tools/call": false,
	} {
		if got := isServerText([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
