// Package workload is what each client in Go does that hunt.sh explores, as workload.mjs is for the others: it sees that its
// server has the tool echo, calls two tools at once and a slow one behind them, prints the answers and ends. The server is a
// command, or the address of one over HTTP.
package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// Client is a library that is connected with the server.
type Client struct {
	Tools []string // of the server, by name
	Call  func(ctx context.Context, name string, arguments map[string]any) (text string, err error)
	Close func() error
}

// Run works with a library. open gets the command of the server, or its url. It ends the program.
func Run(open func(ctx context.Context, command []string, url string) (*Client, error)) {
	command, url := os.Args[1:], ""
	if strings.HasPrefix(command[0], "http://") {
		command, url = nil, command[0]
	}
	if err := work(context.Background(), func(ctx context.Context) (*Client, error) { return open(ctx, command, url) }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func work(ctx context.Context, open func(context.Context) (*Client, error)) error {
	client, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // which fails where the server had to be ended by a signal
	if !strings.Contains("\n"+strings.Join(client.Tools, "\n")+"\n", "\necho\n") {
		return errors.New("no tool echo")
	}
	var calls sync.WaitGroup
	var texts [3]string
	var faults [3]error
	calls.Go(func() { texts[0], faults[0] = client.Call(ctx, "echo", map[string]any{"message": "one"}) })
	calls.Go(func() { texts[1], faults[1] = client.Call(ctx, "get-sum", map[string]any{"a": 2, "b": 3}) })
	calls.Wait()
	texts[2], faults[2] = client.Call(ctx, "trigger-long-running-operation", map[string]any{"duration": 0.2, "steps": 2})
	fmt.Println(strings.Join(texts[:], "\n"))
	return errors.Join(faults[:]...)
}

// PrintProgress prints how far a call is.
func PrintProgress(progress, total float64) {
	fmt.Fprintf(os.Stderr, "progress %v of %v\n", progress, total)
}
