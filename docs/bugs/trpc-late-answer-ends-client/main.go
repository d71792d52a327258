// An answer that comes at the moment in which its caller gives up ends the stdio client's
// reader: no later call is answered.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	mcp "trpc.group/trpc-go/trpc-mcp-go"
)

func main() {
	if len(os.Args) > 1 {
		serve()
		return
	}
	client, err := mcp.NewStdioClient(mcp.StdioTransportConfig{
		ServerParams: mcp.StdioServerParameters{Command: os.Args[0], Args: []string{"server"}}, Timeout: 5 * time.Second,
	}, mcp.Implementation{Name: "c", Version: "1"})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	if _, err := client.Initialize(context.Background(), &mcp.InitializeRequest{}); err != nil {
		panic(err)
	}
	call := func(patience time.Duration) (time.Duration, error) {
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		request := &mcp.CallToolRequest{}
		request.Params.Name = "work"
		start := time.Now()
		_, err := client.CallTool(ctx, request)
		return time.Since(start), err
	}
	usual := time.Duration(0)
	for range 10 {
		took, err := call(time.Second)
		if err != nil {
			panic(err)
		}
		usual += took / 10
	}
	for i := 1; i <= 1000; i++ {
		call(usual/2 + time.Duration(i%100)*usual/100) // half of them give up
		if i%20 != 0 {
			continue
		}
		if _, err := call(2 * time.Second); err != nil {
			fmt.Printf("after %d calls, some of which gave up as their answer came, no call is answered: %v\n", i, err)
			os.Exit(1)
		}
	}
	fmt.Println("all calls that waited were answered")
}

// serve is a server that answers each request at once. The answers are long, as those of
// a search are.
func serve() {
	content := strings.Repeat(`{"type":"text","text":"x"},`, 20_000) + `{"type":"text","text":"x"}`
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m struct {
			ID     any
			Method string
		}
		switch json.Unmarshal(lines.Bytes(), &m); m.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%v,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`+"\n", m.ID)
		case "tools/call":
			fmt.Printf(`{"jsonrpc":"2.0","id":%v,"result":{"content":[%s]}}`+"\n", m.ID, content)
		}
	}
}
