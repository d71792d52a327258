//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/transport"
)

// hangServer is a server at which sessions hang; where its client cannot see that, it says
// so on standard error.
//
//	hangserver mute      never answers a tool call
//	hangserver die       is killed by a tool call
//	hangserver progress  sends progress of a tool call until nobody takes it
//	hangserver brief     sends two progress notifications and the result
func hangServer() {
	r := transport.NewFrameReader(os.Stdin)
	for {
		f, err := r.Read()
		if err != nil {
			return
		}
		messages, _ := f.Messages()
		for _, m := range messages {
			switch {
			case m.Method == "tools/call":
				hangAt(os.Args[1], m.ID)
			case m.Kind() == transport.Request:
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`+"\n", m.ID)
			}
		}
	}
}

func hangAt(mode string, id json.RawMessage) {
	progress := func(n int) {
		fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":%d,"message":%q}}`+"\n", n, strings.Repeat("x", 1000))
	}
	switch mode {
	case "mute":
		fmt.Fprintln(os.Stderr, "hangs")
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "progress":
		var stands *time.Timer
		stands = time.AfterFunc(time.Hour, func() {
			fmt.Fprintln(os.Stderr, "hangs")
			stands.Reset(standstill)
		})
		for n := 1; ; n++ { // the write that blocks lets the timer go
			stands.Reset(standstill)
			progress(n)
		}
	case "brief":
		progress(1)
		progress(2)
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", id)
	}
}

// standstill is how often a server whose write does not return says that it hangs.
const standstill = 100 * time.Millisecond

// hang records a session with such a server until it hangs and its client gives up, and
// returns what check says of the call: an error, or a note where the client waited for less
// than a second. The client reads what its loop takes.
func hang(t *testing.T, mode string, loop func(lines *bufio.Reader, over <-chan struct{})) string {
	t.Helper()
	t.Setenv("MCPREC_HOME", t.TempDir())
	cmd := exec.Command("mcprec", "record", "--", "hangserver", mode)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`+"\n")
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	io.WriteString(in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","arguments":{},"_meta":{"progressToken":"p"}}}`+"\n")
	over, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		loop(lines, over)
	}()
	switch mode {
	case "mute", "progress":
		awaitHang(bufio.NewReader(said), cmd.Process.Pid, mode == "progress")
	default:
		<-left // the client sees the end, or has its answer
	}
	out.Close()
	in.Close()
	close(over)
	<-left
	_, _ = io.Copy(io.Discard, said)
	_ = cmd.Wait() // however the server ended
	found, _ := exec.Command("mcprec", "check", "--format", "json").Output()
	for line := range strings.Lines(string(found)) {
		if strings.Contains(line, `"rule":"E1"`) || strings.Contains(line, `"rule":"E2"`) {
			return line
		}
	}
	return ""
}

// awaitHang reads what a server says until it hangs. Where the client does not read, the
// recorder must hang as well: its write to the client has not returned for longer than
// check takes for an accident. A server that stands still does not show that: on a busy
// machine it may be the recorder that comes late.
func awaitHang(said *bufio.Reader, pid int, full bool) {
	var since time.Time
	for {
		if _, err := said.ReadString('\n'); err != nil || !full {
			return
		}
		switch {
		case !writesToPipe(pid):
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > 2*recorder.BlockedThreshold:
			return
		}
	}
}

// writesToPipe reports whether a thread of a process is in a write to a pipe, and true where
// the system does not show it.
func writesToPipe(pid int) bool {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	if err != nil || len(tasks) == 0 {
		return true
	}
	for _, path := range tasks {
		var call, fd int
		b, _ := os.ReadFile(path)
		if n, _ := fmt.Sscanf(string(b), "%d 0x%x", &call, &fd); n < 2 || call != syscall.SYS_WRITE {
			continue
		}
		if to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd)); strings.HasPrefix(to, "pipe:") {
			return true
		}
	}
	return false
}

// TestHangsAreNamed: of a real session that hung, the recording alone says who waited,
// and who had it.
func TestHangsAreNamed(t *testing.T) {
	nothing := func(*bufio.Reader, <-chan struct{}) {}
	everything := func(lines *bufio.Reader, _ <-chan struct{}) { _, _ = io.Copy(io.Discard, lines) }
	// As the client session of python-sdk 1.3.0: the loop hands a notification to a queue
	// of none, which nobody drains while a call waits for its answer.
	queue := make(chan string)
	swallowing := func(lines *bufio.Reader, over <-chan struct{}) {
		for {
			line, err := lines.ReadString('\n')
			if err != nil || !strings.Contains(line, `"method"`) {
				return
			}
			select {
			case queue <- line:
			case <-over:
				return
			}
		}
	}
	for name, c := range map[string]struct {
		mode string
		loop func(*bufio.Reader, <-chan struct{})
		dir  string
		want []string
	}{
		"a server that never answers": {"mute", everything, "c2s", []string{"the client closed its end (#", "the server sent nothing after the request"}},
		"a killed server":             {"die", everything, "s2c", []string{"the server ended first (#", "exit signal: killed)"}},
		"a client that stops reading": {"progress", nothing, "c2s", []string{"the client no longer read (#", "to be taken", "the server sent #"}},
		"a swallowed notification":    {"progress", swallowing, "c2s", []string{"the client no longer read (#", "notifications to the client meanwhile: ", "--client inbox:0"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := hang(t, c.mode, c.loop)
			for _, want := range append(c.want, `"dir":"`+c.dir+`"`, `tools/call \"slow\" of the client (id 2, #5) waited `) {
				if !strings.Contains(found, want) {
					t.Errorf("%s\nlacks %q", found, want)
				}
			}
		})
	}
}

// TestSwallowedInPipe: where the pipe holds all that the client did not read, the
// recording has the answer, and what the client must have room for says the rest.
func TestSwallowedInPipe(t *testing.T) {
	// To the recorder a pipe that holds a line is as one from which it was read.
	untilAnswer := func(lines *bufio.Reader, _ <-chan struct{}) {
		for line, err := lines.ReadString('\n'); err == nil && !strings.Contains(line, `"result"`); {
			line, err = lines.ReadString('\n')
		}
	}
	if found := hang(t, "brief", untilAnswer); found != "" {
		t.Errorf("the answer is there, and %s", found)
	}
	out, err := exec.Command("mcprec", "replay", "--client", "inbox:0").Output()
	if err == nil || !strings.Contains(string(out), "HANG (proved) swallowed") || !strings.Contains(string(out), "client's receive loop holds progress notification #") {
		t.Errorf("%v\n%s", err, out)
	}
	if out := mcprec(t, "capacity"); !strings.Contains(out, "an inner queue of 2 in the client") {
		t.Error(out)
	}
}
