//go:build unix

package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestViewOpen: no argument of the program that opens the browser has the address of the page, whatever
// the page shows. What it is given leads there, is for this user alone, and is gone at the end.
func TestViewOpen(t *testing.T) {
	const seed = "../../fixtures/seed.jsonl"
	opened := filepath.Join(t.TempDir(), "opened")
	if err := syscall.Mkfifo(opened, 0o600); err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" \"$(env)\" >'" + opened + "'\n"
	for _, name := range []string{"xdg-open", "open"} { // of Linux, and of macOS
		if err := os.WriteFile(filepath.Join(programs, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	t.Setenv("HOME", home)
	t.Setenv("TMPDIR", t.TempDir())
	defer syscall.Umask(syscall.Umask(0))
	for _, c := range []struct {
		snap bool
		args []string
	}{
		{false, []string{seed}},
		{false, []string{"--at", "5", "--client", "notification-queue=0", seed}},
		{false, []string{seed, seed}},
		{true, []string{"--dir", "--store", t.TempDir()}},
	} {
		if c.snap {
			if err := os.Mkdir(filepath.Join(home, "snap"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		view := newClient(t, os.Stderr, append([]string{"view", "--open"}, c.args...)...)
		line, err := view.out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		address := strings.TrimSpace(line)
		key := regexp.MustCompile(`key=(\w+)`).FindStringSubmatch(address)[1]
		pipe, err := os.Open(opened)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(pipe)
		if err := pipe.Close(); err != nil { // else the next program finds a reader, and ends before the next Open
			t.Fatal(err)
		}
		first, environment, isWhole := strings.Cut(string(said), "\n")
		if err != nil || !isWhole {
			t.Fatalf("%q, %v", said, err)
		}
		if strings.Contains(first+environment, key) {
			t.Errorf("%v: the browser's arguments or environment have the key: %s", c.args, first)
		}
		file := strings.TrimSpace(first)
		if strings.HasPrefix(file, home) != c.snap {
			t.Errorf("%v: the file is %s", c.args, file)
		}
		for path, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700 | os.ModeDir} {
			if info, err := os.Stat(path); err != nil || info.Mode() != want {
				t.Errorf("%v: %s: %v, want %v; %v", c.args, path, info.Mode(), want, err)
			}
		}
		text, err := os.ReadFile(file)
		leads := regexp.MustCompile(`content="0; url=([^"]*)"`).FindSubmatch(text)
		if err != nil || leads == nil || strings.ReplaceAll(string(leads[1]), "&amp;", "&") != address {
			t.Errorf("%v: the file leads elsewhere: %s, %v", c.args, text, err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Site": "cross-site", "Mode": "navigate", "Dest": "document"} {
			r.Header.Set("Sec-Fetch-"+name, value)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%v: a browser that is led to the page: %v, %v", c.args, answer, err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
		if err := view.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		view.exits(0)
		if _, err := os.Stat(filepath.Dir(file)); !os.IsNotExist(err) {
			t.Errorf("%v: what led to the page is left behind: %v", c.args, err)
		}
	}
}
