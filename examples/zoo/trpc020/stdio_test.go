package trpc020

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mcp "trpc.group/trpc-go/trpc-mcp-go"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/transport"
)

// The bugs of this file have a report in docs/bugs. No release is without them; the green
// side is v0.0.20 with the patches there.

// TestLateAnswer: docs/bugs/trpc-late-answer-ends-client. The caller gives up at about the
// time that an answer takes, sooner or later while the reader, which has found out whose
// it is, still encodes it again; a long one, so that this takes its time.
func TestLateAnswer(t *testing.T) {
	zoo.Plain{
		Name: "trpc-mcp-go late answer ends client",
		SDK:  mcp.NewStdioClient,
		Do: func(t *testing.T) error {
			client := connect(t, "long")
			start := time.Now()
			for range 10 {
				if err := client.call(time.Minute); err != nil {
					t.Fatal(err)
				}
			}
			usual := time.Since(start) / 10
			for i := range 300 {
				client.call(usual/2 + time.Duration(i%100)*usual/100)
				if client.panics.Load() > 0 {
					return errors.New("the client's reader has ended: send on closed channel")
				}
			}
			return client.call(time.Minute)
		},
		Want: map[string]string{"v0.0.20": "the client's reader has ended: send on closed channel", "v0.0.20+fix": ""},
	}.Run(t)
}

// TestLogLine: docs/bugs/trpc-log-line-spins-client. The server writes a line of text
// before its answer.
func TestLogLine(t *testing.T) {
	zoo.Plain{
		Name: "trpc-mcp-go log line spins client",
		SDK:  mcp.NewStdioClient,
		Do: func(t *testing.T) error {
			client := connect(t, "chatty")
			client.limit = 1000
			return client.call(time.Minute)
		},
		Want: map[string]string{"v0.0.20": "has logged 1000 errors", "v0.0.20+fix": ""},
	}.Run(t)
}

// TestSharedLine: docs/bugs/trpc-frames-share-a-line. Two answers of the SDK's server come
// on one line.
func TestSharedLine(t *testing.T) {
	zoo.Plain{
		Name: "trpc-mcp-go frames share a line",
		SDK:  mcp.NewStdioServer,
		Do:   answersByLine,
		Want: map[string]string{"v0.0.20": "two messages are on one line", "v0.0.20+fix": ""},
	}.Run(t)
}

func answersByLine(t *testing.T) error {
	const rounds, calls = 200, 100
	cmd, stdin, stdout := start(t, "the SDK's")
	defer cmd.Wait()
	defer stdin.Close()
	lines := bufio.NewScanner(stdout)
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	lines.Scan()
	for range rounds {
		for id := range calls {
			fmt.Fprintf(stdin, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{}}}`+"\n", id+1)
		}
		for range calls { // as many newlines come, whatever is between them
			if !lines.Scan() {
				return fmt.Errorf("read answers: %w", lines.Err())
			}
			if line := lines.Bytes(); len(line) > 0 && !json.Valid(line) {
				return errors.New("two messages are on one line")
			}
		}
	}
	return nil
}

// start starts this program as a server.
func start(t *testing.T, which string) (*exec.Cmd, io.WriteCloser, io.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serverVariable+"="+which)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, stdin, stdout
}

// watchedClient is the SDK's client, and the logger of it.
type watchedClient struct {
	mcp.Logger
	client *mcp.StdioClient
	panics atomic.Int64
	errors atomic.Int64
	limit  int64 // of errors, after which a call is given up; 0 is none
	over   chan struct{}
}

// connect starts this program as a server, and connects to it.
func connect(t *testing.T, which string) *watchedClient {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(serverVariable, which)
	w := &watchedClient{Logger: mcp.GetDefaultLogger(), over: make(chan struct{})}
	w.client, err = mcp.NewStdioClient(mcp.StdioTransportConfig{
		ServerParams: mcp.StdioServerParameters{Command: self}, Timeout: time.Minute,
	}, mcp.Implementation{Name: "caller", Version: "1"}, mcp.WithStdioLogger(w))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.client.Close() })
	if _, err := w.client.Initialize(t.Context(), &mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	return w
}

// call calls a tool, and gives up after patience or too many errors in the log.
func (w *watchedClient) call(patience time.Duration) error {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	done := make(chan error, 1)
	go func() {
		request := &mcp.CallToolRequest{}
		request.Params.Name = "work"
		_, err := w.client.CallTool(ctx, request)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-w.over:
		return fmt.Errorf("the client, which waits for an answer, has logged %d errors", w.limit)
	}
}

// Errorf counts errors; that the reader panicked is one.
func (w *watchedClient) Errorf(format string, args ...any) {
	if format == "readLoop panic: %v" {
		w.panics.Add(1)
	}
	if w.errors.Add(1) == w.limit {
		close(w.over)
	}
}

func (w *watchedClient) Warnf(string, ...any)  {}
func (w *watchedClient) Infof(string, ...any)  {}
func (w *watchedClient) Debugf(string, ...any) {}

// quick answers each call at once, behind a line of text if it is chatty.
func quick(conn transport.Conn, which string) {
	ctx := context.Background()
	content := ""
	if which == "long" {
		content = strings.Repeat(`{"type":"text","text":"x"},`, 5_000) + `{"type":"text","text":"x"}`
	}
	for {
		f, err := conn.Read(ctx)
		if err != nil {
			return
		}
		messages, err := f.Messages()
		if err != nil {
			return
		}
		switch m := messages[0]; m.Method {
		case "initialize":
			write(ctx, conn, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"quick","version":"1"}}}`, m.ID)
		case "tools/call":
			if which == "chatty" {
				write(ctx, conn, "listening for work")
			}
			write(ctx, conn, `{"jsonrpc":"2.0","id":%s,"result":{"content":[%s]}}`, m.ID, content)
		}
	}
}
