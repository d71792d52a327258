//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// TestServeCorpus has mcprec serve play real sessions, over stdio, to a copy of the
// client that is in them; then to one that gives its requests other ids and progress
// tokens. Each frame comes as it was recorded, in the recorded order.
func TestServeCorpus(t *testing.T) {
	for _, path := range corpusFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".jsonl"), func(t *testing.T) {
			t.Parallel()
			events, err := jsonl.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for name, client := range map[string][]store.Event{"same ids": events, "other ids": renumbered(events)} {
				trace := servedTo(t, path, client)
				for i, want := range wire(client) {
					if i >= len(trace) || trace[i] != want {
						t.Fatalf("%s: message %d of %d: got %.200q, want %.200q", name, i+1, len(trace), append(trace, "the end")[min(i, len(trace))], want)
					}
				}
			}
		})
	}
}

// corpusFiles are the sessions to serve: one with all that has an order, real ones
// over stdio, and those that $MCPREC_CORPUS has.
func corpusFiles(t *testing.T) []string {
	files := []string{filepath.Join("..", "..", "replay", "standin", "testdata", "order.jsonl")}
	for _, folder := range []string{filepath.Join("..", "..", "store", "foreign", "testdata", "mcp-frames"), os.Getenv("MCPREC_CORPUS")} {
		found, err := filepath.Glob(filepath.Join(folder, "stdio-*.jsonl"))
		if err != nil || len(found) == 0 && folder != "" {
			t.Fatalf("%s: %d sessions, %v", folder, len(found), err)
		}
		for _, path := range found {
			known := slices.ContainsFunc(files, func(f string) bool { return filepath.Base(f) == filepath.Base(path) })
			if !known { // the sample is of the set
				files = append(files, path)
			}
		}
	}
	return files
}

// Sessions over HTTP match themselves on a pipe: what HTTP refused is left out there.
func TestSelfPlayOnPipe(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "replay", "standin", "testdata", "http", "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d sessions, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			out, errs, code := inProcess(t, nil, "drive", path, "--", "mcprec", "serve", path)
			want := 0
			if strings.Contains(path, "unauthorized") { // HTTP refused all of it
				want = 2
			}
			if code != want {
				t.Errorf("exit %d, want %d\n%s%s", code, want, out, errs)
			}
		})
	}
}

// renumbered returns the session as a client has it that numbers otherwise.
func renumbered(events []store.Event) []store.Event {
	var client []store.Event
	for _, e := range events {
		if e.Dir == transport.ClientToServer {
			client = append(client, e)
		}
	}
	return standin.Renumber(client, events)
}

// wire are the frames of a session as lines, each behind its direction.
func wire(events []store.Event) (lines []string) {
	for _, e := range events {
		if e.Kind == store.Frame && len(bytes.TrimSpace(e.Payload)) > 0 {
			lines = append(lines, e.Dir.String()+" "+string(e.Payload))
		}
	}
	return lines
}

// servedTo drives mcprec serve with the client of a session.
func servedTo(t *testing.T, path string, client []store.Event) []string {
	var stderr bytes.Buffer
	conn, err := transport.Command{Args: []string{"mcprec", "serve", path}, Stderr: &stderr}.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tap := &tappedConn{Conn: conn}
	driver := standin.NewDriver(client, match.Rules{})
	end, err := standin.Drive(t.Context(), tap, driver, standin.DriveOptions{Timeout: 5 * time.Minute})
	said := "" // but for what the recorded server left open
	if what := session.Unanswered(client); what != "" {
		said = fmt.Sprintf("mcprec: %s has no answer to %s, and gives none\n", path, what)
	}
	if err != nil || end != standin.Complete || stderr.String() != said || len(driver.Without()) > 0 {
		t.Errorf("drive: %s, %v, without %v; serve says %s", end, err, driver.Without(), stderr.Bytes())
	}
	for _, f := range driver.Close() {
		t.Error(f)
	}
	return tap.trace
}

// tappedConn notes the frames that pass through a Conn, in order.
type tappedConn struct {
	transport.Conn
	mu    sync.Mutex
	trace []string
}

func (c *tappedConn) note(dir transport.Direction, f transport.Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trace = append(c.trace, dir.String()+" "+string(f.Bytes))
}

func (c *tappedConn) Read(ctx context.Context) (transport.Frame, error) {
	f, err := c.Conn.Read(ctx)
	if err == nil {
		c.note(transport.ServerToClient, f)
	}
	return f, err
}

func (c *tappedConn) Write(ctx context.Context, f transport.Frame) error {
	c.note(transport.ClientToServer, f)
	return c.Conn.Write(ctx, f)
}

// CloseWrite ends the client's side.
func (c *tappedConn) CloseWrite() error { return c.Conn.(transport.HalfCloser).CloseWrite() }
