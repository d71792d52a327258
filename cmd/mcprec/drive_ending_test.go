//go:build unix

package main

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

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
