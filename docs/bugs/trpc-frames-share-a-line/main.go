// The stdio server writes a message and its newline one after the other, without a lock:
// with calls side by side, two messages come on one line, and an empty line behind them.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	mcp "trpc.group/trpc-go/trpc-mcp-go"
)

func main() {
	if len(os.Args) > 1 {
		s := mcp.NewStdioServer("repro", "1")
		s.RegisterTool(mcp.NewTool("echo"), func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewTextResult("done"), nil
		})
		s.Start()
		return
	}
	cmd := exec.Command(os.Args[0], "server")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	lines.Scan()
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	const calls = 2000
	go func() {
		for id := 1; id <= calls; id++ {
			fmt.Fprintf(stdin, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{}}}`+"\n", id)
		}
	}()
	shared, example := 0, ""
	for newlines := 0; newlines < calls && lines.Scan(); newlines++ {
		if line := lines.Bytes(); len(line) > 0 && !json.Valid(line) {
			shared++
			example = string(line)
		}
	}
	fmt.Printf("of the lines of %d answers, %d are no JSON\n", calls, shared)
	if shared > 0 {
		fmt.Println("the last of them:", example)
		os.Exit(1)
	}
}
