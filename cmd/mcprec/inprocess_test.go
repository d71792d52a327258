package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
)

// needOwnProcess are the commands that need a process of their own: they serve, start mcprec again, or
// pass on signals.
var needOwnProcess = []string{"record", "serve", "explored-server", "demo"}

// inProcess runs a command line as the program does, without the start of a process, which costs more
// than most commands. A nil stdin is at its end.
func inProcess(t *testing.T, stdin io.Reader, args ...string) (stdout, stderr []byte, code int) {
	t.Helper()
	if len(args) > 0 && slices.Contains(needOwnProcess, args[0]) {
		t.Fatalf("mcprec %s needs a process of its own", args[0])
	}
	dir := t.TempDir()
	open := func(name string) *os.File {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	in, out, errs := open("in"), open("out"), open("errs")
	defer in.Close()
	if stdin != nil {
		if _, err := io.Copy(in, stdin); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
	}
	status := run(context.Background(), args, cli.Streams{In: in, Out: out, Err: errs})
	read := func(f *os.File) []byte {
		f.Close()
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	return read(out), read(errs), status.Code
}

// ownProcess runs the words of a line in a process of its own, with more in its environment.
func ownProcess(t *testing.T, environment map[string]string, stdin io.Reader, words ...string) (stdout, stderr []byte, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Stdin, cmd.Env = stdin, os.Environ()
	for key, value := range environment {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.Bytes(), errs.Bytes(), cmd.ProcessState.ExitCode()
}

// soak returns how much a test does: little, or much in make night.
func soak(little, much int) int {
	if os.Getenv("MCPREC_NIGHT") != "" {
		return much
	}
	return little
}
