package trpc020

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	mcp "trpc.group/trpc-go/trpc-mcp-go"

	"github.com/mcprec/mcprec/examples/zoo"
)

// TestEOFDropsAll: docs/bugs/trpc-eof-drops-all. The stdio server reads to the end of
// stdin, and ends without the answers to what it has read. No release is without it.
func TestEOFDropsAll(t *testing.T) {
	zoo.Plain{
		Name: "trpc-mcp-go EOF drops all",
		SDK:  mcp.NewStdioServer,
		Do:   pipe,
		Want: map[string]string{"v0.0.20": "of 20 calls were never answered"},
	}.Run(t)
}

func pipe(t *testing.T) error {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const calls = 20
	input := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`
	for id := range calls {
		input += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{}}}`+"\n", id+1)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serverVariable+"=the SDK's")
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if lost := calls - strings.Count(string(out), `"done"`); lost > 0 {
		return fmt.Errorf("%d of %d calls were never answered", lost, calls)
	}
	return nil
}

// echo is the SDK's server on stdin.
func echo() {
	s := mcp.NewStdioServer("echo", "1")
	s.RegisterTool(mcp.NewTool("echo"), func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewTextResult("done"), nil
	})
	s.Start()
}
