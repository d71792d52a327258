//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

// hangServer is a server at which sessions hang; where its client cannot see that, it says
// so on standard error.
//
//	hangserver mute      never answers a tool call
//	hangserver die       is killed by a tool call
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
	case "brief":
		progress(1)
		progress(2)
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", id)
	}
}

// hang records a session with such a server until it hangs and its client gives up, and
// returns what check says of the call. The client reads what its loop takes.
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
	case "mute":
		_, _ = bufio.NewReader(said).ReadString('\n')
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

// TestHangsAreNamed: of a real session that hung, the recording alone says who waited,
// and who had it.
func TestHangsAreNamed(t *testing.T) {
	everything := func(lines *bufio.Reader, _ <-chan struct{}) { _, _ = io.Copy(io.Discard, lines) }
	for name, c := range map[string]struct {
		mode string
		loop func(*bufio.Reader, <-chan struct{})
		dir  string
		want []string
	}{
		"a server that never answers": {"mute", everything, "c2s", []string{"when the client closed its end (#"}},
		"a killed server":             {"die", everything, "s2c", []string{"The server ended", "by the signal killed"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := hang(t, c.mode, c.loop)
			for _, want := range append(c.want, `"dir":"`+c.dir+`"`, `tools/call \"slow\" (id 2, #5)`) {
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
	out, err := exec.Command("mcprec", "replay", "--client", "notification-queue=0").Output()
	if err == nil || !strings.Contains(string(out), "HANG (proved) blocked behind a notification") || !strings.Contains(string(out), "client's reader waits to hand progress notification #") {
		t.Errorf("%v\n%s", err, out)
	}
	if out := mcprec(t, "replay", "--need"); !strings.Contains(out, "2 notifications pile up in the client") {
		t.Error(out)
	}
}
