//go:build unix

package recording

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// What is given up leaves nothing in the folder.
func TestGivenUpFixture(t *testing.T) {
	dir := t.TempDir()
	ctx, giveUp := context.WithCancelCause(t.Context())
	events := func(yield func(store.Event, error) bool) {
		e := store.Event{Seq: 1, Kind: store.Opened, Payload: store.Header{ID: "x"}.Encode()}
		for ; yield(e, nil); e = (store.Event{Seq: e.Seq + 1, Kind: store.Note, Payload: []byte("{}")}) {
			if e.Seq == 10_000 {
				giveUp(errGivenUp)
			}
		}
	}
	write := func(w io.Writer) error { return session.Encode(w, until(ctx, events)) }
	_, _, err := cli.WriteNewFile(filepath.Join(dir, "out.jsonl"), write, func(string) bool { return false })
	if !errors.Is(err, errGivenUp) {
		t.Errorf("write: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Only what is a recording of the same server, in which a client asked for nothing but
// what the server is, gives its file to a session.
func TestProbeOf(t *testing.T) {
	const (
		discover = `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`
		list     = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
		told     = `{"jsonrpc":"2.0","method":"notifications/cancelled"}`
	)
	local, remote := store.Header{ID: "x", Command: []string{"server", "a"}}, store.Header{ID: "x", URL: "http://h/mcp"}
	for _, tt := range []struct {
		name    string
		of, in  store.Header
		said    []string
		replace bool
	}{
		{"a probe", local, local, []string{discover}, true},
		{"a probe that is called off", local, local, []string{discover, told}, true},
		{"a probe that is said twice", local, local, []string{discover, discover}, true},
		{"a probe over HTTP", remote, remote, []string{discover}, true},
		{"a session that begins with one", local, local, []string{discover, list}, false},
		{"a session that ends with one", local, local, []string{list, discover}, false},
		{"a session in which nothing was asked", local, local, []string{told}, false},
		{"an empty session", local, local, nil, false},
		{"a probe of another command", local, store.Header{ID: "x", Command: []string{"server", "b"}}, []string{discover}, false},
		{"a probe of another URL", remote, store.Header{ID: "x", URL: "http://h/other"}, []string{discover}, false},
		{"of what server is not said", store.Header{ID: "x"}, store.Header{ID: "x"}, []string{discover}, false},
	} {
		events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: tt.in.Encode()}}
		for i, text := range tt.said {
			events = append(events, store.Event{Seq: uint64(i + 2), Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte(text)})
		}
		name := filepath.Join(t.TempDir(), "f.jsonl")
		if err := jsonl.WriteFile(name, jsonl.Each(events)); err != nil {
			t.Fatal(err)
		}
		if got := probeOf(tt.of, name); got != tt.replace {
			t.Errorf("%s: replaced %t, want %t", tt.name, got, tt.replace)
		}
		link := filepath.Join(t.TempDir(), "link.jsonl")
		if err := os.Symlink(name, link); err != nil {
			t.Fatal(err)
		}
		if probeOf(tt.of, link) {
			t.Errorf("%s: a symbolic link is replaced", tt.name)
		}
	}
}

// TestListenFault: where another process listens, the error says how to listen elsewhere.
func TestListenFault(t *testing.T) {
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	address := first.Addr().String()
	_, err = net.Listen("tcp", address)
	if fault := ListenFault(address, err).Error(); !strings.HasSuffix(fault, "use --listen 127.0.0.1:0, which takes a free port") {
		t.Error(fault)
	}
}
