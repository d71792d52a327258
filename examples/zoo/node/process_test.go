package node

import (
	"path/filepath"
	"testing"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/external"
)

// TestLostUpdates is https://github.com/modelcontextprotocol/servers/issues/2579: each call reads the
// file, changes the graph and writes the file, and no lock is around the three.
func TestLostUpdates(t *testing.T) {
	run(t, "server-memory 2579 lost updates", "@modelcontextprotocol/server-memory", zoo.Process{
		Server: external.Server{
			Command: []string{"node", "node_modules/@modelcontextprotocol/server-memory/dist/index.js"},
			Env:     []string{"MEMORY_FILE_PATH=%DIR/memory.jsonl"},
		},
		Session: "testdata/memory.jsonl",
		Want:    external.NotSerial,
		Says:    []string{"tools/call read_graph (#9) is answered by"},
	})
}

// TestEndOfInput is https://github.com/modelcontextprotocol/typescript-sdk/pull/1613: the transport does
// not notice the end of its input, so that a server with a timer outlives its client.
func TestEndOfInput(t *testing.T) {
	run(t, "typescript-sdk 1613 end of input", "@modelcontextprotocol/server", zoo.Process{
		Server:  external.Server{Command: []string{"node", "eof.mjs"}},
		Session: "testdata/eof.jsonl",
		Want:    external.Lingers,
		Says:    []string{"lingers after the end of its input"},
	})
}

// run explores a case at the release that is installed. With the build tag fixed nothing must be found,
// and packages without such a release have an empty row.
func run(t *testing.T, name, pkg string, p zoo.Process) {
	t.Helper()
	dir := installed(t)
	p.Name = name
	p.Release = release(t, dir, pkg)
	if p.Release == "" {
		zoo.Row{Bug: name}.Add(t)
		return
	}
	if manifest != "package.json" {
		p.Want, p.Says = "", nil
	}
	for i, word := range p.Server.Command {
		if ext := filepath.Ext(word); ext == ".js" || ext == ".mjs" {
			p.Server.Command[i] = filepath.Join(dir, word)
		}
	}
	p.Run(t)
}
