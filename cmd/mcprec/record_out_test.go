//go:build unix

package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
)

// finishing is a client whose session is over and whose recorder is about to write its
// fixture to a pipe that takes no more until it is read.
type finishing struct {
	*client
	home    string
	fixture *os.File
	stderr  *bufio.Reader
}

func startFinishing(t *testing.T) *finishing {
	t.Helper()
	heard := make(chan os.Signal, 1) // what nohup has us ignore our children would too
	signal.Notify(heard, syscall.SIGHUP, syscall.SIGINT)
	t.Cleanup(func() { signal.Stop(heard) })
	name := filepath.Join(t.TempDir(), "out.jsonl")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	f := &finishing{home: t.TempDir()}
	var err error
	if f.fixture, err = os.OpenFile(name, os.O_RDWR, 0); err != nil { // a reader, and no end of file yet
		t.Fatal(err)
	}
	t.Cleanup(func() { f.fixture.Close() })
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	f.stderr = bufio.NewReader(r)
	f.client = newClient(t, w, "record", "--store", f.home, "-o", name, "--", "fakeserver", "flood", "3000")
	w.Close()
	f.in.Close()
	if _, err := io.Copy(io.Discard, f.out); err != nil {
		t.Fatal(err)
	}
	return f
}

// signals sends a signal, and waits until it is heard of.
func (f *finishing) signals(sig os.Signal, want string) {
	f.t.Helper()
	if err := f.cmd.Process.Signal(sig); err != nil {
		f.t.Fatal(err)
	}
	if line, err := f.stderr.ReadString('\n'); err != nil || !strings.Contains(line, want) {
		f.t.Errorf("%v: standard error %q, %v; want %q", sig, line, err, want)
	}
}

// readTo returns what is written of the fixture before the last line.
func (f *finishing) readTo(last string) string {
	var text strings.Builder
	for lines := bufio.NewReader(f.fixture); ; {
		line, err := lines.ReadString('\n')
		before, ended := strings.CutSuffix(line, last)
		if text.WriteString(before); ended || err != nil {
			return text.String()
		}
	}
}

// A signal that comes while the fixture is written does not lose it.
func TestSignalWhileFixtureIsWritten(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		f := startFinishing(t)
		begun := make([]byte, 1)
		if _, err := io.ReadFull(f.fixture, begun); err != nil {
			t.Fatal(err)
		}
		f.signals(sig, "out.jsonl is being written; another signal gives it up")
		text := make(chan string)
		go func() { text <- f.readTo("that was all\n") }()
		f.exits(0)
		io.WriteString(f.fixture, "that was all\n") // behind what the recorder wrote
		var log []store.Event
		for e, err := range jsonl.Decode(strings.NewReader(string(begun) + <-text)) {
			if err != nil {
				t.Fatalf("%v: %v", sig, err)
			}
			log = append(log, e)
		}
		if len(log) == 0 || log[len(log)-1].Kind != store.Closed {
			t.Errorf("%v: %d events were written, without the end", sig, len(log))
		}
	}
}

// A second signal gives it up, and record says so.
func TestSecondSignalGivesUpFixture(t *testing.T) {
	f := startFinishing(t)
	if _, err := io.ReadFull(f.fixture, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	f.signals(syscall.SIGTERM, "is being written")
	f.signals(syscall.SIGTERM, "out.jsonl was not written: given up at a second signal; mcprec export -o")
	f.exits(4)
	if list := mcprec(t, "list", "--store", f.home); !strings.Contains(list, " closed ") {
		t.Errorf("list:\n%s", list)
	}
}

// A terminal that is closed ends a recorder of a remote server as an interrupt does: its
// files are written.
func TestHangupOfTarget(t *testing.T) {
	heard := make(chan os.Signal, 1) // what nohup has us ignore our children would too
	signal.Notify(heard, syscall.SIGHUP)
	defer signal.Stop(heard)
	server := httptest.NewServer(http.HandlerFunc(remoteServer))
	defer server.Close()
	name := filepath.Join(t.TempDir(), "out.jsonl")
	c := newClient(t, os.Stderr, "record", "--store", t.TempDir(), "-o", name, "--target", server.URL+"/mcp", "--listen", "127.0.0.1:0")
	url, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(strings.TrimSpace(url), "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":3,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if err := c.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	c.exits(0)
	log, err := jsonl.ReadFile(name)
	if err != nil || len(log) == 0 || log[len(log)-1].Kind != store.Closed {
		t.Errorf("%d events were written, without the end; %v", len(log), err)
	}
}
