package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
)

// TestReplayWithClient: a client that has replay for its server is told so, whether it writes to a
// pipe or to a socket. Any other input changes nothing, and no input is read away.
func TestReplayWithClient(t *testing.T) {
	const asked = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}` + "\n"
	for _, test := range []struct {
		what, waits string
		socket      bool
		code        int
	}{
		{"a pipe", asked, false, cli.ExitUsage},
		{"a socket", asked, true, cli.ExitUsage},
		{"a list", "session-1\nsession-2\n", false, cli.ExitFine},
		{"nothing", "", false, cli.ExitFine},
	} {
		near, far, err := os.Pipe()
		if test.socket {
			var ends [2]int
			ends, err = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			near, far = os.NewFile(uintptr(ends[0]), "near"), os.NewFile(uintptr(ends[1]), "far")
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := far.WriteString(test.waits); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("mcprec", "replay", "../../fixtures/seed.jsonl")
		var out, errs bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = near, &out, &errs
		_ = cmd.Run()
		far.Close()
		rest := make([]byte, 512)
		n, _ := near.Read(rest)
		near.Close()
		said := strings.Contains(errs.String(), "to stand in for the server: mcprec serve; to play the client: mcprec drive")
		if code := cmd.ProcessState.ExitCode(); code != test.code || said != (code == cli.ExitUsage) || (out.Len() == 0) != said {
			t.Errorf("%s: exit status %d, want %d: %s%s", test.what, code, test.code, &out, &errs)
		}
		if string(rest[:n]) != test.waits {
			t.Errorf("%s: replay took from its standard input: %q is left", test.what, rest[:n])
		}
	}
}
