package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

// leaving returns a program that starts a helper which is deaf, has a session of its own, and no parent, and then
// becomes another one. Each process has descriptor 3 open.
func leaving(program string) []string {
	return []string{"--", "sh", "-c", `(setsid sh -c 'trap "" HUP INT TERM; sleep 1000' &); echo ready >&3; exec ` + program}
}

// TestNothingLeft holds that neither processes nor folders are there after a command that runs servers or
// clients, whatever ends it; after one that was killed, when the next one has run.
func TestNothingLeft(t *testing.T) {
	t.Parallel()
	const seed = "../../fixtures/seed.jsonl"
	mute, answers := leaving("cat >/dev/null"), leaving("mcprec serve "+seed)
	commands := map[string][]string{
		"explore": append([]string{"explore", seed, "--orders", "300"}, answers...),
		"client":  append([]string{"explore", seed, "--as-server"}, leaving(`sh -c 'sleep 1000 | "$0"' "%SERVER"`)...),
		"drive":   append([]string{"drive", seed, "--timeout", "1h"}, mute...),
		"ci":      append([]string{"ci", seed, "--timeout", "1h"}, mute...),
		"measure": append([]string{"explore", "--measure"}, answers...),
		"made":    append([]string{"explore", "--store", t.TempDir(), "--orders", "300"}, answers...),
	}
	for name, args := range commands {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
			t.Run(name+" "+sig.String(), func(t *testing.T) {
				t.Parallel()
				run := startFertile(t, nil, args...)
				run.awaitReady(t)
				if err := run.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				run.end(t, sig)
				if sig == syscall.SIGKILL {
					_ = run.command("drive", seed, "--", "true").Run() // the drive fails, and that is all the same
				}
				run.checkNothingLeft(t)
			})
		}
		t.Run(name+" closed terminal", func(t *testing.T) {
			t.Parallel()
			screen, terminal := newTerminal(t)
			run := startFertile(t, terminal, args...)
			run.awaitReady(t)
			if err := screen.Close(); err != nil {
				t.Fatal(err)
			}
			run.end(t, syscall.SIGHUP)
			run.checkNothingLeft(t)
		})
	}
	for name, args := range map[string][]string{
		"explore": append([]string{"explore", seed, "--orders", "4"}, answers...),
		"drive":   append([]string{"drive", seed}, answers...),
		"ci":      append([]string{"ci", seed}, answers...),
		"measure": append([]string{"explore", "--measure"}, answers...),
		"made":    append([]string{"explore", "--store", t.TempDir(), "--orders", "4"}, answers...),
	} {
		t.Run(name+" ends", func(t *testing.T) {
			t.Parallel()
			run := startFertile(t, nil, args...)
			run.awaitReady(t)
			run.end(t, 0)
			run.checkNothingLeft(t)
		})
	}
}

// fertile is a run of mcprec whose programs leave something behind.
type fertile struct {
	cmd    *exec.Cmd
	temp   string // its folder for temporary files
	said   bytes.Buffer
	marked *os.File // has its end when mcprec and all that it has started have ended
	ready  *bufio.Reader
}

// startFertile starts mcprec, on a terminal of its own if there is one.
func startFertile(t *testing.T, terminal *os.File, args ...string) *fertile {
	t.Helper()
	caught := make(chan os.Signal, 1) // what is caught here is not ignored there, as it would be under nohup
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close() })
	run := &fertile{temp: t.TempDir(), marked: reader, ready: bufio.NewReaderSize(reader, 16)}
	run.cmd = run.command(args...)
	run.cmd.ExtraFiles = []*os.File{writer}
	run.cmd.Stdout, run.cmd.Stderr = &run.said, &run.said
	if terminal != nil {
		run.cmd.Stdin, run.cmd.Stderr = terminal, terminal
		run.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}
	if err := run.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	if terminal != nil {
		_ = terminal.Close()
	}
	return run
}

// command is mcprec with the run's folder for temporary files.
func (f *fertile) command(args ...string) *exec.Cmd {
	cmd := exec.Command("mcprec", args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+f.temp)
	return cmd
}

func (f *fertile) awaitReady(t *testing.T) {
	t.Helper()
	if line, err := f.ready.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the helper says %q, %v", line, err)
	}
}

// end waits for the end of mcprec, by a signal if there is one.
func (f *fertile) end(t *testing.T, sig syscall.Signal) {
	t.Helper()
	err := f.cmd.Wait()
	status, isWaited := f.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if isSignaled := isWaited && status.Signaled(); isSignaled != (sig != 0) || isSignaled && status.Signal() != sig {
		t.Errorf("it ended with %v: %s", err, &f.said)
	}
}

func (f *fertile) checkNothingLeft(t *testing.T) {
	t.Helper()
	fd := int(f.marked.Fd())
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	page := make([]byte, 1<<10)
	count, err := syscall.Read(fd, page)
	for count > 0 {
		count, err = syscall.Read(fd, page)
	}
	if errors.Is(err, syscall.EAGAIN) {
		t.Error("a process is left")
	} else if err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(f.temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s is left", e.Name())
	}
}
