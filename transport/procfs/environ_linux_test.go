package procfs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestEnviron holds that a process has its whole environment also while it begins a program, at which moments the
// system shows none, or a part.
func TestEnviron(t *testing.T) {
	script := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec \"$0\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	again := exec.Command(script)
	for i := range 2_000 { // so that it takes a while to hand them on
		again.Env = append(again.Env, fmt.Sprintf("SETTING_%d=%d", i, i))
	}
	const setting = "PROCFS_TEST=yes"
	again.Env = append(again.Env, setting)
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = again.Process.Kill()
		_ = again.Wait() // killed
	})
	for looks, lacking := 0, 0; lacking < 5 && looks < 100_000; looks++ {
		shown, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", again.Process.Pid))
		if err == nil && !bytes.Contains(shown, []byte(setting)) {
			lacking++
		}
		if environ, ended := Environ(again.Process.Pid); ended || !bytes.Contains(environ, []byte(setting)) {
			t.Fatalf("it has %d bytes, ended is %v", len(environ), ended)
		}
	}
}

// TestEnvironNone holds that nothing is waited for where there is no environment.
func TestEnvironNone(t *testing.T) {
	bare := exec.Command("cat")
	bare.Env = []string{}
	in, err := bare.StdinPipe()
	if err == nil {
		err = bare.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if environ, ended := Environ(bare.Process.Pid); len(environ) > 0 || ended {
		t.Errorf("a program without a setting: %q, ended is %v", environ, ended)
	}
	_ = in.Close()
	await(t, Identify(bare.Process.Pid), "ended", isIn(Zombie))
	if environ, ended := Environ(bare.Process.Pid); len(environ) > 0 || !ended {
		t.Errorf("one that has ended: %q, ended is %v", environ, ended)
	}
	if err := bare.Wait(); err != nil {
		t.Fatal(err)
	}
	if environ, ended := Environ(bare.Process.Pid); len(environ) > 0 || !ended {
		t.Errorf("none: %q, ended is %v", environ, ended)
	}
}
