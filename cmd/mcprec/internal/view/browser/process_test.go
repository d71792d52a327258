package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// command returns mcprec with arguments and a store.
func command(store string, args ...string) *exec.Cmd {
	cmd := exec.Command(mcprec, args...)
	cmd.Env = append(os.Environ(), "MCPREC_HOME="+store, "NO_COLOR=1")
	return cmd
}

// output runs mcprec to its end and returns its standard output. Exit status 1 is a verdict.
func output(t testing.TB, store string, args ...string) []byte {
	t.Helper()
	cmd := command(store, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	var exited *exec.ExitError
	if err != nil && !(errors.As(err, &exited) && exited.ExitCode() == 1) {
		t.Fatalf("mcprec %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return text
}

// report runs mcprec to its end and decodes the JSON that it prints.
func report[T any](t testing.TB, args ...string) (value T) {
	t.Helper()
	if err := json.Unmarshal(output(t, t.TempDir(), args...), &value); err != nil {
		t.Fatalf("mcprec %s: %v", strings.Join(args, " "), err)
	}
	return value
}

// server is a running mcprec view.
type server struct {
	url     *url.URL // with the key
	process *os.Process
}

// view starts mcprec view on a new store, and ends it with the test.
func view(t testing.TB, args ...string) *server {
	t.Helper()
	return viewStore(t, t.TempDir(), args...)
}

// viewStore starts mcprec view on a store.
func viewStore(t testing.TB, store string, args ...string) *server {
	t.Helper()
	return viewWith(t, store, nil, args...)
}

// viewWith starts mcprec view on a store, with more of an environment.
func viewWith(t testing.TB, store string, environment []string, args ...string) *server {
	t.Helper()
	cmd := command(store, append([]string{"view"}, args...)...)
	cmd.Env = append(cmd.Env, environment...)
	var stderr locked
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, stdout)
		err := cmd.Wait()
		if said := stderr.String(); err != nil || strings.Contains(said, "goroutine ") || strings.Contains(said, "DATA RACE") {
			t.Errorf("mcprec view ended with %v:\n%s", err, said)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("mcprec view %s printed no address: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	address, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return &server{address, cmd.Process}
}

// at returns the address of the page with a focus.
func (s *server) at(focus string) string {
	address := *s.url
	address.Fragment = ""
	if focus == "" {
		focus = s.url.EscapedFragment()
	}
	if focus == "" {
		return address.String()
	}
	return address.String() + "#" + focus
}

// of returns the address of a session of the list.
func (s *server) of(session string) string {
	address := *s.url
	query := address.Query()
	query.Set("session", session)
	address.RawQuery = query.Encode()
	return address.String()
}

// export writes the page of a session as a file and returns its address.
func export(t testing.TB, args ...string) (path, address string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "session.html")
	output(t, t.TempDir(), append([]string{"view", "-o", path}, args...)...)
	return path, (&url.URL{Scheme: "file", Path: path}).String()
}

// fixture returns the path of a bundled session.
func fixture(name string) string {
	return filepath.Join(root, "fixtures", name+".jsonl")
}

// fixtureNames returns the names of the bundled sessions.
func fixtureNames(t testing.TB) (found []string) {
	t.Helper()
	paths, err := filepath.Glob(fixture("*"))
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d bundled sessions: %v", len(paths), err)
	}
	for _, path := range paths {
		found = append(found, strings.TrimSuffix(filepath.Base(path), ".jsonl"))
	}
	return found
}

// locked is a buffer that a process writes while a test reads it.
type locked struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// waitUntil waits for a condition outside the page.
func waitUntil(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), deadline, fmt.Errorf("not after %v: %s", deadline, what))
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(context.Cause(ctx))
		}
	}
}
