package leftover

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcprec/mcprec/transport/procfs"
)

// runsEnv makes the test binary a process that begins a run, starts the shell command of the value in it, and
// waits to be killed.
const runsEnv = "LEFTOVER_TEST_RUNS"

func TestMain(m *testing.M) {
	command := os.Getenv(runsEnv)
	if command == "" {
		os.Exit(m.Run())
	}
	_ = os.Unsetenv(runsEnv)
	run, err := Begin()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command("sh", "-c", command, "sh", run.Folder)
	cmd.Env = run.Environ()
	cmd.Stdout = os.Stdout
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
}

// marked returns a pipe of which the reader sees the end when the last process that holds the writer has ended.
func marked(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close() })
	return reader, writer
}

// isOver reports whether the last process that holds the writer has ended.
func isOver(t *testing.T, reader *os.File) bool {
	t.Helper()
	fd := int(reader.Fd()) // makes it blocking
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	count, err := syscall.Read(fd, make([]byte, 1))
	if err != nil && !errors.Is(err, syscall.EAGAIN) {
		t.Fatal(err)
	}
	return count == 0 && err == nil
}

// helpers are the ways in which a program leaves a helper behind.
var helpers = map[string]string{
	"a session of its own":         `setsid sh -c 'echo ready; exec sleep 1000' & wait`,
	"its parent has ended":         `(setsid sh -c '(echo ready; exec sleep 1000) & exit' &); exit`,
	"deaf to what asks it to end":  `trap "" HUP INT TERM; echo ready; sleep 1000`,
	"starts others all the time":   `setsid sh -c 'echo ready; while true; do sleep 1000 & sleep 0.001; done' & exit`,
	"begins programs all the time": `printf '#!/bin/sh\nexec "$0"\n' >"$1/again"; chmod +x "$1/again"; echo ready; setsid "$1/again" & exit`,
	"hops all the time":            `printf '#!/bin/sh\n"$0" & exit\n' >"$1/hop"; chmod +x "$1/hop"; echo ready; setsid "$1/hop" & exit`,
	"stopped":                      `setsid sh -c 'echo ready; kill -STOP $$' & exit`,
	"within a run of another":      `MCPREC_RUN="$MCPREC_RUN 1-x.1.1-1"; export MCPREC_RUN; setsid sh -c 'echo ready; exec sleep 1000' & exit`,
	"a folder nobody may write to": `mkdir -p "$1/a/b"; : >"$1/a/b/file"; chmod 500 "$1/a/b" "$1/a"; echo ready; sleep 1000`,
}

// TestEnd holds that no process of a run, and no folder, is there after its end, whatever way it has gone.
func TestEnd(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for name, command := range helpers {
		t.Run(name, func(t *testing.T) {
			run, err := Begin()
			if err != nil {
				t.Fatal(err)
			}
			other, err := Begin()
			if err != nil {
				t.Fatal(err)
			}
			neighbour := exec.Command("cat") // of another run, which goes on
			neighbour.Env = other.Environ()
			input, err := neighbour.StdinPipe()
			if err == nil {
				err = neighbour.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			reader, writer := marked(t)
			cmd := exec.Command("sh", "-c", command, "sh", run.Folder)
			cmd.Env, cmd.Stdout = run.Environ(), writer
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = writer.Close()
			if line, err := bufio.NewReaderSize(reader, 16).ReadString('\n'); line != "ready\n" {
				t.Fatalf("it says %q, %v", line, err)
			}
			run.End()
			_ = cmd.Wait() // killed, or ended before
			if !isOver(t, reader) {
				t.Error("a process is left")
			}
			if _, err := os.Stat(run.Folder); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the folder: %v", err)
			}
			_ = input.Close()
			if err := neighbour.Wait(); err != nil {
				t.Errorf("the process of another run: %v", err)
			}
			other.End()
		})
	}
}

// TestSweep holds that a sweep ends what a process that was killed left, and nothing of one that lives.
func TestSweep(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	living, err := Begin()
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range helpers {
		t.Run(name, func(t *testing.T) {
			reader, writer := marked(t)
			cmd := exec.Command(os.Args[0])
			cmd.Env, cmd.Stdout = append(living.Environ(), runsEnv+"="+command), writer
			input, err := cmd.StdinPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = input.Close() }()
			_ = writer.Close()
			if line, err := bufio.NewReaderSize(reader, 16).ReadString('\n'); line != "ready\n" {
				t.Fatalf("it says %q, %v", line, err)
			}
			Sweep()
			if isOver(t, reader) {
				t.Error("what lives was swept")
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // killed
			Sweep()
			if !isOver(t, reader) {
				t.Error("a process is left")
			}
			if left, err := filepath.Glob(filepath.Join(temp, "*")); err != nil || len(left) != 1 || left[0] != living.Folder {
				t.Errorf("folders: %q, %v", left, err)
			}
		})
	}
	living.End()
}

// TestNotSwept holds that a sweep takes nothing away that may be in use: names that are no run's, runs of
// another namespace of processes, and of this process.
func TestNotSwept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	self := procfs.Identify(os.Getpid())
	machine := self.Birth[:strings.LastIndexByte(self.Birth, '.')]
	for name, isSwept := range map[string]bool{
		fmt.Sprintf("1000000000-%s.1-1-x", machine):    true,
		fmt.Sprintf("%d-%s-1-x", self.PID, self.Birth): false,
		"1000000000-00000000.4026531836.1-1-x":         false,
		fmt.Sprintf("1000000000-%s9.1-1-x", machine):   false,
		"1000000000--1-x":          false,
		"x-" + self.Birth + "-1-x": false,
		"":                         false, "1000000000": false,
	} {
		path := filepath.Join(os.TempDir(), prefix+name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		Sweep()
		if _, err := os.Stat(path); os.IsNotExist(err) != isSwept {
			t.Errorf("%s: swept is %v, want %v", name, !isSwept, isSwept)
		}
	}
	link := filepath.Join(os.TempDir(), prefix+fmt.Sprintf("1000000000-%s.1-2-x", machine))
	target := t.TempDir()
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	Sweep()
	if _, err := os.Stat(target); err != nil {
		t.Error(err)
	}
}
