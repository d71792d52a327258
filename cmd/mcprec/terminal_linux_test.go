package main

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// typedRun is a command whose standard error is a terminal.
type typedRun struct {
	t        *testing.T
	cmd      *exec.Cmd
	keyboard *os.File      // of the terminal
	screen   *bufio.Reader // of the terminal
	out      *bufio.Reader
}

// startOnTerminal starts mcprec with standard error, and with typed also standard input, on a
// terminal.
func startOnTerminal(t *testing.T, typed bool, args ...string) *typedRun {
	t.Helper()
	screen, terminal := newTerminal(t)
	p := &typedRun{t: t, cmd: exec.Command("mcprec", args...), keyboard: screen, screen: bufio.NewReader(screen)}
	p.cmd.Stderr = terminal
	if typed {
		p.cmd.Stdin = terminal
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	return p
}

// expect reads the next line of the screen.
func (p *typedRun) expect(pattern string) {
	p.t.Helper()
	line, err := p.screen.ReadString('\n')
	if line = strings.TrimRight(line, "\r\n"); err != nil || !regexp.MustCompile("^"+pattern+"$").MatchString(line) {
		p.t.Errorf("the terminal shows %q, %v; want %s", line, err, pattern)
	}
}

// interrupt ends the command, and returns what is left on the screen.
func (p *typedRun) interrupt() string {
	p.t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
	return p.wait()
}

// wait returns what is left on the screen when the command has ended.
func (p *typedRun) wait() string {
	var rest strings.Builder
	_, err := p.screen.WriteTo(&rest) // ends with EIO when no process has the terminal open
	if err == nil {
		p.t.Error("the screen has an end")
	}
	_ = p.cmd.Wait()
	return strings.ReplaceAll(rest.String(), "\r\n", "\n")
}

const anID = `[0-9a-f-]{36}`

// On a terminal record says that it waits for a client, and what it recorded.
func TestRecordOnTerminal(t *testing.T) {
	t.Parallel()
	p := startOnTerminal(t, true, "record", "--store", t.TempDir(), "--", "fakeserver", "echo")
	p.expect(`mcprec: recording session ` + anID + `; a client is to speak on standard input, here the keyboard; \^D ends it`)
	if _, err := p.keyboard.WriteString("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := p.out.ReadString('\n'); !strings.Contains(answer, `"id":1`) {
		t.Errorf("the server says %q, %v", answer, err)
	}
	if _, err := p.keyboard.Write([]byte{4}); err != nil {
		t.Fatal(err)
	}
	if rest := p.wait(); !regexp.MustCompile(`(?m)^mcprec: recorded session ` + anID + `: 2 messages, \d+ bytes$`).MatchString(rest) {
		t.Errorf("the terminal shows %q", rest)
	}
}

// A client may lend its terminal to the server as standard error: nothing is said there.
func TestRecordBesideTerminal(t *testing.T) {
	t.Parallel()
	p := startOnTerminal(t, false, "record", "--store", t.TempDir(), "--", "fakeserver", "echo")
	if rest := p.wait(); rest != "" {
		t.Errorf("the terminal shows %q", rest)
	}
}

// What listens says on a terminal that it does, and when a session begins and has ended.
func TestListenOnTerminal(t *testing.T) {
	t.Parallel()
	const fixture = "../../fixtures/memory-2025-11-25.jsonl"
	serve := startOnTerminal(t, false, "serve", "--listen", "127.0.0.1:0", fixture)
	serve.expect(`mcprec: clients are to use the URL above; \^C ends it`)
	url, err := serve.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	record := startOnTerminal(t, false, "record", "--store", t.TempDir(), "--listen", "127.0.0.1:0", "--target", strings.TrimSpace(url))
	record.expect(`mcprec: recording; clients are to use the URL above; \^C ends it`)
	if url, err = record.out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mcprec", "drive", fixture, "--target", strings.TrimSpace(url)).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	record.expect(`mcprec: session ` + anID + ` begins`)
	if rest := record.interrupt(); !regexp.MustCompile(`^mcprec: recorded session ` + anID + `: \d+ messages, \d+ bytes\n$`).MatchString(rest) {
		t.Errorf("the terminal of record shows %q", rest)
	}
	serve.expect(`mcprec: session 1 begins`)
	if rest := serve.interrupt(); rest != "mcprec: session 1 ended\n" {
		t.Errorf("the terminal of serve shows %q", rest)
	}
}
