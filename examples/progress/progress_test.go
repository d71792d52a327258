package progress_test

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcprec/mcprec/examples/progress"
	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// TestSeed: the session of both peers is the seed's, which two peers of the official
// Go SDK wrote, in its order and to the byte.
func TestSeed(t *testing.T) {
	var want, got []string
	for _, e := range fixtures.Load(t, "../../fixtures/seed.jsonl").Events() {
		if e.Kind == store.Frame {
			want = append(want, e.Dir.String()+" "+string(e.Payload))
		}
	}
	synctest.Test(t, func(t *testing.T) {
		// The observer has the pipe to itself, so a plain slice is enough.
		pipe := transport.NewPipe(0, 0, func(s transport.Step) {
			if s.Kind == transport.Offer {
				got = append(got, s.Dir.String()+" "+string(s.Frame.Bytes))
			}
		})
		served := make(chan error, 1)
		go func() { served <- progress.Serve(t.Context(), pipe.Server()) }()
		var said bytes.Buffer
		if err := progress.Call(t.Context(), &said, pipe.Client()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		const lines = "client: progress 1 of 2\nclient: progress 2 of 2\nclient: the tool said \"12 letters\"\n"
		if said.String() != lines {
			t.Errorf("the client said\n%s, want\n%s", &said, lines)
		}
	})
	if !slices.Equal(got, want) {
		t.Errorf("the session is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestExplore: no order of delivery stops either peer.
func TestExplore(t *testing.T) {
	fx := fixtures.Load(t, "../../fixtures/seed.jsonl")
	t.Run("client", func(t *testing.T) {
		fx.Explore(t, fixtures.AsServer, func(t testing.TB, conn transport.Conn) {
			if err := progress.Call(t.Context(), io.Discard, conn); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("server", func(t *testing.T) {
		fx.Explore(t, fixtures.AsClient, func(t testing.TB, conn transport.Conn) {
			if err := progress.Serve(t.Context(), conn); err != nil {
				t.Error(err)
			}
		})
	})
}

// TestServe pins what the server answers to each frame.
func TestServe(t *testing.T) {
	tests := []struct{ name, frame, want string }{
		{"ping", `{"jsonrpc":"2.0","id":"a","method":"ping"}`, `{"jsonrpc":"2.0","id":"a","result":{}}`},
		{"a call without a token", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"text":"größer"}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"6 letters"}]}}`},
		{"no text", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count"}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"the tool is count, its argument a text"}}`},
		{"another tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"the tool is count, its argument a text"}}`},
		{"another method", `{"jsonrpc":"2.0","id":1,"method":"x"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"there is no method x"}}`},
		{"no request", `{}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"neither a request nor anything else"}}`},
		{"no JSON", `{`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON"}}`},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pipe := transport.NewPipe(1, 1, nil)
			client := pipe.Client()
			if err := client.Write(t.Context(), transport.Frame{Bytes: []byte(test.frame)}); err != nil {
				t.Fatal(err)
			}
			if err := client.(transport.HalfCloser).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if err := progress.Serve(context.Background(), pipe.Server()); err != nil {
				t.Error(err)
			}
			f, err := client.Read(t.Context())
			if string(f.Bytes) != test.want || err != nil && test.want != "" {
				t.Errorf("the answer is %s, %v, want %s", f.Bytes, err, test.want)
			}
		})
	}
}
