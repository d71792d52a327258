package gosdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// pair connects two SDKs over a pipe and returns their sessions.
func pair(t *testing.T, pipe *transport.Pipe, server *mcp.Server, client *mcp.Client, revision string) (*mcp.ClientSession, *mcp.ServerSession) {
	t.Helper()
	s, err := server.Connect(t.Context(), gosdk.Transport(pipe.Server()), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Connect(t.Context(), gosdk.Transport(pipe.Client()),
		speaking(revision))
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

// TestSession runs a whole session at both revisions and two capacities.
func TestSession(t *testing.T) {
	for _, revision := range append(revisions, "") {
		for _, capacity := range []int{0, 1} {
			t.Run(fmt.Sprintf("revision %q capacity %d", revision, capacity), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { session(t, revision, capacity) })
			})
		}
	}
}

func session(t *testing.T, revision string, capacity int) {
	// The observer has the pipe to itself, so a plain slice is enough.
	var frames []string
	pipe := transport.NewPipe(capacity, capacity, func(s transport.Step) {
		if s.Kind == transport.Offer {
			frames = append(frames, string(s.Frame.Bytes))
		}
	})
	seen := make(chan float64, 2*steps)
	client, server := pair(t, pipe, newQuietServer(), newClient(&mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
			seen <- n.Params.Progress
		},
	}), revision)
	want := revision
	if want == "" {
		want = newest
	}
	if got := client.InitializeResult().ProtocolVersion; got != want {
		t.Errorf("the revision is %s, want %s", got, want)
	}
	if id := client.ID(); id != "" {
		t.Errorf("the session's id is %q, want none", id)
	}
	if err := listTools(t.Context(), client); err != nil {
		t.Error(err)
	}
	if err := callCount(t.Context(), client); err != nil {
		t.Error(err)
	}
	synctest.Wait()
	if len(seen) != steps {
		t.Errorf("%d progress notifications arrived, want %d", len(seen), steps)
	}
	for want := range len(seen) {
		if got := <-seen; got != float64(want+1) {
			t.Errorf("progress %v arrived as number %d", got, want+1)
		}
	}
	if err := client.Close(); err != nil {
		t.Errorf("close client: %v", err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("wait for server: %v", err)
	}
	synctest.Wait()
	checkLines(t, frames)
}

func checkLines(t *testing.T, frames []string) {
	t.Helper()
	for _, f := range frames {
		if !json.Valid([]byte(f)) || strings.Contains(f, "\n") {
			t.Errorf("the frame %q is not one line of JSON", f)
		}
	}
}

// TestClose closes one end and looks at the other, and at what a call then gives.
func TestClose(t *testing.T) {
	for _, closer := range []string{"client", "server"} {
		t.Run(closer, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := pair(t, transport.NewPipe(0, 0, nil), newQuietServer(), newClient(nil), handshake)
				ends := map[string]interface {
					Close() error
					Wait() error
				}{"client": client, "server": server}
				far := map[string]string{"client": "server", "server": "client"}[closer]
				if err := ends[closer].Close(); err != nil {
					t.Errorf("close %s: %v", closer, err)
				}
				if err := ends[far].Wait(); err != nil {
					t.Errorf("wait for %s: %v", far, err)
				}
				if err := listTools(t.Context(), client); !errors.Is(err, mcp.ErrConnectionClosed) {
					t.Errorf("a call after the close: %v, want %v", err, mcp.ErrConnectionClosed)
				}
			})
		})
	}
}

// TestCloseInCall closes the Conn under a call: the caller is told.
func TestCloseInCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe, server := transport.NewPipe(0, 0, nil), newQuietServer()
		onRequest(server, "tools/call", func(context.Context, mcp.Request) error { return pipe.Client().Close() })
		client, _ := pair(t, pipe, server, newClient(nil), handshake)
		if err := callCount(t.Context(), client); !errors.Is(err, io.EOF) {
			t.Errorf("the call: %v, want EOF", err)
		}
	})
}

// TestRead pins what the SDK's reader gets for each frame.
func TestRead(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	tests := []struct {
		name   string
		frames []string
		want   string // a part of the error, or "" for the ping
	}{
		{"a message", []string{ping}, ""},
		{"with carriage return", []string{ping + "\r"}, ""},
		{"after blank frames", []string{"", " \t\r", ping}, ""},
		{"a log line", []string{"listening on stdio"}, `decode message "listening on stdio": not JSON`},
		{"a long line", []string{strings.Repeat("x", 100)}, `"` + strings.Repeat("x", 60) + `"…: `},
		{"two messages", []string{ping + ping}, transport.ErrNotJSON.Error()},
		{"another version", []string{`{"jsonrpc":"1.0","id":1,"method":"ping"}`}, "version"},
		{"a batch", []string{"[" + ping + "]"}, gosdk.ErrBatch.Error()},
		{"an empty batch", []string{" []"}, gosdk.ErrBatch.Error()},
		{"the end", nil, "EOF"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pipe := transport.NewPipe(0, transport.Unbounded, nil)
			for _, f := range test.frames {
				if err := pipe.Server().Write(t.Context(), frame(f)); err != nil {
					t.Fatal(err)
				}
			}
			pipe.Server().Close()
			m, err := connect(t, pipe.Client()).Read(t.Context())
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("read: %v, want %s", err, test.want)
				}
				return
			}
			if request, ok := m.(*jsonrpc.Request); err != nil || !ok || request.Method != "ping" {
				t.Errorf("read: %v, %v, want a ping", m, err)
			}
		})
	}
}

// TestNoMessage: what is no message ends the session, and Wait says why.
func TestNoMessage(t *testing.T) {
	for text, want := range map[string]error{"[]": gosdk.ErrBatch, "panic: oh": transport.ErrNotJSON} {
		synctest.Test(t, func(t *testing.T) {
			pipe := transport.NewPipe(1, 1, nil)
			client, _ := pair(t, pipe, newQuietServer(), newClient(nil), handshake)
			if err := pipe.Server().Write(t.Context(), frame(text)); err != nil {
				t.Fatal(err)
			}
			if err := client.Wait(); !errors.Is(err, want) {
				t.Errorf("wait: %v, want %v", err, want)
			}
		})
	}
}

// TestCancel ends the contexts of a Read and of a Write; the Conn lives on.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := transport.NewPipe(0, 0, nil)
		conn := connect(t, pipe.Client())
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		go func() { _, err := conn.Read(ctx); errs <- err }()
		go func() { errs <- conn.Write(ctx, &jsonrpc.Request{Method: "notifications/initialized"}) }()
		synctest.Wait()
		cancel()
		for range 2 {
			if err := <-errs; !errors.Is(err, context.Canceled) {
				t.Errorf("a call whose context ended: %v", err)
			}
		}
		go pipe.Server().Write(t.Context(), frame(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
		if _, err := conn.Read(t.Context()); err != nil {
			t.Errorf("read after that: %v", err)
		}
	})
}

// TestCancelCall ends the context of a call: it returns, the server is told, and
// the session lives on.
func TestCancelCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		told, server := make(chan struct{}), newQuietServer()
		onRequest(server, "tools/call", func(ctx context.Context, _ mcp.Request) error {
			cancel()
			<-ctx.Done()
			close(told)
			return ctx.Err()
		})
		client, _ := pair(t, transport.NewPipe(0, 0, nil), server, newClient(nil), handshake)
		if err := callCount(ctx, client); !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled call: %v", err)
		}
		<-told
		if err := listTools(t.Context(), client); err != nil {
			t.Errorf("a call after it: %v", err)
		}
		client.Close()
	})
}

// TestClosed pins the errors of a connection that was closed at this end.
func TestClosed(t *testing.T) {
	pipe := transport.NewPipe(1, 1, nil)
	conn := connect(t, pipe.Client())
	for range 2 {
		if err := conn.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if _, err := conn.Read(t.Context()); err != io.EOF {
		t.Errorf("read: %v, want EOF", err)
	}
	if err := conn.Write(t.Context(), &jsonrpc.Request{Method: "ping"}); !errors.Is(err, mcp.ErrConnectionClosed) {
		t.Errorf("write: %v, want %v", err, mcp.ErrConnectionClosed)
	}
}

func TestConnectOnce(t *testing.T) {
	tr := gosdk.Transport(transport.NewPipe(0, 0, nil).Client())
	if _, err := tr.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Connect(t.Context()); err == nil {
		t.Error("the second Connect did not fail")
	}
}

func connect(t *testing.T, conn transport.Conn) mcp.Connection {
	t.Helper()
	c, err := gosdk.Transport(conn).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}
