//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A signal ends serve as it would end a server, and what was asked of the real one
// is kept.
func TestServeKeepsAtSignal(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s.jsonl")
	recorded := `{"mcprec":1,"transport":"stdio"}` + "\n" + `{"dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}` + "\n"
	if err := os.WriteFile(name, []byte(recorded), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("mcprec", "serve", "--mode", "new_episodes", name, "--", "fakeserver", "echo")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, `{"jsonrpc":"2.0","id":7,"method":"new"}`+"\n")
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != `{"jsonrpc":"2.0","id":7,"result":{}}`+"\n" {
		t.Errorf("%q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("ended with %v", err)
	}
	kept, err := os.ReadFile(name)
	if err != nil || strings.Count(string(kept), `"id":7`) != 2 {
		t.Errorf("%v, kept\n%s", err, kept)
	}
}
