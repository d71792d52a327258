package agent

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// silent is an output that nobody looks at.
type silent struct{ io.Writer }

func (silent) Close() error { return nil }

// TestLongMessage holds that a message of the agent is held up to a bound, however it is written, that the
// requests in front of it are answered, and that the error says which message it was.
func TestLongMessage(t *testing.T) {
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"w","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
	for name, long := range map[string]struct{ begin, block string }{
		"a line":               {`{"jsonrpc":"2.0","id":2,"method":"ping","params":{"x":"`, strings.Repeat("x", 1<<20)},
		"brackets in a string": {`{"jsonrpc":"2.0","id":2,"method":"ping","params":{"x":"`, strings.Repeat(`]}\"`, 1<<18)},
		"many lines":           {`{"jsonrpc":"2.0","id":2,"method":"ping","params":[0`, strings.Repeat("\n,[]", 1<<18)},
		"lines with nothing":   {"", strings.Repeat("\n", 1<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			in, agent := io.Pipe()
			defer in.Close()
			sent := make(chan int)
			go func() {
				_, _ = io.WriteString(agent, hello+long.begin)
				count := 0
				for ; count < 64; count++ {
					if _, err := io.WriteString(agent, long.block); err != nil {
						break
					}
				}
				agent.Close()
				sent <- count
			}()
			var out bytes.Buffer
			err := New(nil, "test").runStdio(t.Context(), in, silent{&out}, 4<<20)
			in.Close()
			if want := "mcp: message 4 of standard input is too long: more than 4 MiB, which are not read"; err == nil || err.Error() != want {
				t.Errorf("%v; want %s", err, want)
			}
			if count := <-sent; count > 5 {
				t.Errorf("%d MiB were read", count)
			}
			if !strings.Contains(out.String(), `"id":1,"result":{}`) {
				t.Errorf("the ping has no answer: %s", out.String())
			}
		})
	}
}

// TestManyMessages holds that the bound is on each message, and not on all of them.
func TestManyMessages(t *testing.T) {
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"w","version":"1"}}}` + "\n"
	in, agent := io.Pipe()
	defer in.Close()
	go func() {
		_, _ = io.WriteString(agent, hello)
		for range 5 {
			_, _ = io.WriteString(agent, `{"jsonrpc":"2.0","method":"notifications/x","params":{"x":"]}\\\"`+strings.Repeat("x", 2<<20)+`"}}`+"\r\n\n")
		}
		_, _ = io.WriteString(agent, `{"jsonrpc":"2.0","id":"last","method":"ping"}`) // without its newline
		agent.Close()
	}()
	var out bytes.Buffer
	if err := New(nil, "test").runStdio(t.Context(), in, silent{&out}, 4<<20); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), `"id":"last","result":{}`) {
		t.Errorf("the last ping has no answer: %s", out.String())
	}
}
