//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
)

// Signals reach the server, and its exit status comes back.
func TestSignalsArePassedOn(t *testing.T) {
	heard := make(chan os.Signal, 1) // what nohup has us ignore our children would too
	signal.Notify(heard, syscall.SIGHUP, syscall.SIGINT)
	defer signal.Stop(heard)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGINT} {
		home := t.TempDir()
		c := startClient(t, home, "fakeserver", "asked")
		if line, err := c.out.ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		if err := c.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if line, err := c.out.ReadString('\n'); err != nil || line != sig.String()+"\n" {
			t.Errorf("%v: the server got %q, %v", sig, line, err)
		}
		c.exits(9)
		log := sessions(t, home)[0]
		noted := slices.IndexFunc(log, func(e store.Event) bool { return e.Kind == store.Signal })
		if noted < 0 || !strings.Contains(string(log[noted].Payload), `"`+sig.String()+`","passed":true`) {
			t.Fatalf("%v is not recorded: %v", sig, log)
		}
		if answer := slices.IndexFunc(log, func(e store.Event) bool { return string(e.Payload) == sig.String() }); answer < noted {
			t.Errorf("%v is recorded as event %d, behind what it caused, %d", sig, noted+1, answer+1)
		}
	}
}

func (c *client) exits(want int) {
	c.t.Helper()
	err := c.cmd.Wait()
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		c.t.Error(err)
	}
	if got != want {
		c.t.Errorf("exit status %d, want %d", got, want)
	}
}

// A launcher that leaves its streams to another process and exits does not end
// the session.
func TestLauncher(t *testing.T) {
	home := t.TempDir()
	c := startClient(t, home, "fakeserver", "launcher", "echo")
	awaitEvent(t, home, store.Exited)
	for i := 1; i <= 3; i++ {
		if err := c.ping(i); err != nil {
			t.Fatal(err)
		}
	}
	c.close()
	if got := checkPings(t, sessions(t, home)[0]); got != 3 {
		t.Errorf("%d responses recorded, want 3", got)
	}
}

// A grandchild that only holds standard error does not hold the session.
func TestHeldStderr(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	cmd := exec.Command("mcprec", "record", "--store", home, "--", "fakeserver", "launcher", "hold")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = w
	if _, err := cmd.StdinPipe(); err != nil { // open, as a client's would be
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	line := make([]byte, 32)
	n, _ := r.Read(line)
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatalf("the grandchild said %q", line[:n])
	}
	defer syscall.Kill(pid, syscall.SIGKILL)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// leaver is a client whose server has started a process that holds the server's output
// for as long as the test runs.
type leaver struct {
	*client
	home   string
	stderr *bufio.Reader
}

func startLeaver(t *testing.T, how string) *leaver {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	l := &leaver{home: t.TempDir(), stderr: bufio.NewReader(r)}
	l.client = newClient(t, w, "record", "--store", l.home, "--", "fakeserver", "leaves", how)
	w.Close()
	if line, err := l.out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	line, err := l.stderr.ReadString('\n')
	pid, bad := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || bad != nil {
		t.Fatalf("the server said %q, %v", line, err)
	}
	t.Cleanup(func() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Errorf("the process that holds the output: %v", err)
		}
	})
	return l
}

// closed holds that the recording says how the server ended, that others hold its output,
// and that it is whole. state is the session's in the list.
func (l *leaver) closed(exit, state string) {
	l.t.Helper()
	text := mcprec(l.t, "show", "--store", l.home)
	for _, want := range []string{exit, "another process still holds the server's stdout and stderr"} {
		if !strings.Contains(text, want) {
			l.t.Errorf("the recording does not say %q:\n%s", want, clipped(text))
		}
	}
	if list := mcprec(l.t, "list", "--store", l.home); !strings.Contains(list, "  "+state+"  ") {
		l.t.Errorf("list:\n%s", list)
	}
}

func clipped(text string) string { return text[max(0, len(text)-1000):] }

// A signal ends record as it ends the server, whatever process holds the server's output:
// one that is silent, one that writes without end.
func TestSignalEndsHeldSession(t *testing.T) {
	for _, how := range []string{"wait", "chatter"} {
		t.Run(how, func(t *testing.T) {
			l := startLeaver(t, how)
			go io.Copy(io.Discard, l.out)
			if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			l.diesOf(syscall.SIGTERM)
			l.closed("signal: terminated", "closed")
		})
	}
}

// A server's exit ends record, whatever process holds the server's output, if that process
// cannot hear the client, the client has closed its end, or a signal asked for it. All that
// the server itself wrote is passed on and recorded.
func TestExitEndsHeldSession(t *testing.T) {
	for _, how := range []string{"exit", "input", "farewell"} {
		t.Run(how, func(t *testing.T) {
			l := startLeaver(t, how)
			switch how {
			case "input":
				l.in.Close()
			case "farewell":
				if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			want := strings.Repeat("x", leftBytes) + "\n"
			if rest, err := io.ReadAll(l.out); err != nil || string(rest) != want {
				t.Errorf("%d bytes, %v; want %d", len(rest), err, len(want))
			}
			if line, err := l.stderr.ReadString('\n'); err != nil || line != "goodbye\n" {
				t.Errorf("standard error %q, %v", line, err)
			}
			l.exits(7)
			l.closed("exit 7", "closed, exit 7")
			if raw := mcprec(t, "export", "--store", l.home, "--format", "raw", "--dir", "s2c"); raw != "ready\n"+want {
				t.Errorf("%d bytes recorded", len(raw))
			}
		})
	}
}

// diesOf holds that the recorder dies of the signal.
func (c *client) diesOf(want syscall.Signal) {
	c.t.Helper()
	var exit *exec.ExitError
	if err := c.cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != want {
		c.t.Errorf("ended with %v, want %v", err, want)
	}
}

// The last answer of a server that exits reaches a client that reads late, and
// the recording.
func TestLateReader(t *testing.T) {
	const n = 300_000
	home := t.TempDir()
	c := startClient(t, home, "fakeserver", "burst", strconv.Itoa(n))
	first := make([]byte, 1)
	if _, err := io.ReadFull(c.out, first); err != nil { // it has begun; now be slow
		t.Fatal(err)
	}
	rest, err := io.ReadAll(c.out)
	if err != nil || len(rest) != n {
		t.Errorf("%d bytes and 1, %v; want %d", len(rest), err, n+1)
	}
	c.exits(6)
	if raw := mcprec(t, "export", "--store", home, "--format", "raw", "--dir", "s2c"); raw != string(first)+string(rest) {
		t.Errorf("%d bytes recorded", len(raw))
	}
}

// A prompt on standard error without a newline holds nobody back.
func TestPromptOnStderr(t *testing.T) {
	home := t.TempDir()
	cmd := exec.Command("mcprec", "record", "--store", home, "--", "fakeserver", "stderr", "Loading... ")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if stderr.String() != "Loading... " {
		t.Errorf("standard error %q", &stderr)
	}
	if got := checkPings(t, sessions(t, home)[0]); got != 1 {
		t.Errorf("%d responses", got)
	}
}

// awaitEvent follows the only session until an event of the kind is there.
func awaitEvent(t *testing.T, home string, kind store.Kind) {
	t.Helper()
	awaitEventThat(t, home, func(e store.Event) bool { return e.Kind == kind })
}

// awaitEventThat follows the only session until an event that fits is there.
func awaitEventThat(t *testing.T, home string, fits func(store.Event) bool) {
	t.Helper()
	db, err := boltstore.Open(home, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for {
		for s, err := range db.Sessions(t.Context(), store.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			for e, err := range db.Read(t.Context(), s.ID, 1, store.ReadOptions{Follow: true}) {
				if err != nil {
					t.Fatal(err)
				}
				if fits(e) {
					return
				}
			}
		}
	}
}

// Who interrupts drive learns what it knew by then. The server does it here, when it
// has the first request.
func TestDriveInterrupted(t *testing.T) {
	cmd := exec.Command("mcprec", "drive", "../../fixtures/seed.jsonl", "--", "sh", "-c", "read line; kill -INT $PPID; cat >/dev/null")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("ended with %v", err)
	}
	for _, want := range []string{"stopped before the end:", "initialize"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

// An interrupt ends view without a failure, even right behind its address.
func TestViewInterrupted(t *testing.T) {
	for range 5 {
		c := newClient(t, os.Stderr, "view", "../../fixtures/seed.jsonl")
		if line, err := c.out.ReadString('\n'); err != nil || !strings.HasPrefix(line, "http://127.0.0.1:") {
			t.Fatalf("%q, %v", line, err)
		}
		if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		c.exits(0)
	}
}

// A signal ends serve as it would end a server, and what was asked of the real one
// is kept.
func TestServeKeepsAtSignal(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s.jsonl")
	recorded := `{"mcprec":1,"transport":"stdio"}` + "\n" + `{"dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}` + "\n"
	if err := os.WriteFile(name, []byte(recorded), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, os.Stderr, "serve", "--mode", "new_episodes", name, "--", "fakeserver", "echo")
	io.WriteString(c.in, `{"jsonrpc":"2.0","id":7,"method":"new"}`+"\n")
	if line, err := c.out.ReadString('\n'); err != nil || line != `{"jsonrpc":"2.0","id":7,"result":{}}`+"\n" {
		t.Errorf("%q, %v", line, err)
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := c.cmd.Wait()
	if status := c.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("ended with %v", err)
	}
	kept, err := os.ReadFile(name)
	if err != nil || strings.Count(string(kept), `"id":7`) != 2 {
		t.Errorf("%v, kept\n%s", err, kept)
	}
}
