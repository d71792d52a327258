// A server that writes one line that is no JSON to its stdout, as a stray log does, makes
// the stdio client read the same error for ever: no call is answered, and a core is busy.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	mcp "trpc.group/trpc-go/trpc-mcp-go"
)

func main() {
	if len(os.Args) > 1 {
		serve()
		return
	}
	log := &counter{Logger: mcp.GetDefaultLogger()}
	client, err := mcp.NewStdioClient(mcp.StdioTransportConfig{
		ServerParams: mcp.StdioServerParameters{Command: os.Args[0], Args: []string{"server"}}, Timeout: 2 * time.Second,
	}, mcp.Implementation{Name: "c", Version: "1"}, mcp.WithStdioLogger(log))
	if err != nil {
		panic(err)
	}
	if _, err := client.Initialize(context.Background(), &mcp.InitializeRequest{}); err != nil {
		panic(err)
	}
	request := &mcp.CallToolRequest{}
	request.Params.Name = "work"
	_, err = client.CallTool(context.Background(), request)
	fmt.Println("the call, before which the server wrote one line of text:", err)
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	cpu := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	fmt.Printf("the client has logged %d errors, and computed for %v\n", log.errors.Load(), cpu.Round(100*time.Millisecond))
	if err != nil {
		os.Exit(1)
	}
}

// counter counts errors and is silent.
type counter struct {
	mcp.Logger
	errors atomic.Int64
}

func (c *counter) Errorf(string, ...any) { c.errors.Add(1) }
func (c *counter) Warnf(string, ...any)  {}
func (c *counter) Debugf(string, ...any) {}
func (c *counter) Infof(string, ...any)  {}

// serve answers each request; before the answer to a call it writes a line of text.
func serve() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m struct {
			ID     any
			Method string
		}
		switch json.Unmarshal(lines.Bytes(), &m); m.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%v,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`+"\n", m.ID)
		case "tools/call":
			fmt.Println("listening for work")
			fmt.Printf(`{"jsonrpc":"2.0","id":%v,"result":{"content":[]}}`+"\n", m.ID)
		}
	}
}
