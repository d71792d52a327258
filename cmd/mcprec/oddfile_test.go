//go:build unix

package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// oddKinds make what is no regular file under a name.
var oddKinds = []struct {
	name string
	make func(path string) error
}{
	{"a named pipe", func(path string) error { return syscall.Mkfifo(path, 0o600) }},
	{"a folder", func(path string) error { return os.MkdirAll(filepath.Join(path, "with something in it"), 0o700) }},
	{"a socket", func(path string) error {
		here, err := os.Getwd()
		if err != nil {
			return err
		}
		defer os.Chdir(here) //nolint:errcheck // the path of a socket must be short
		if err := os.Chdir(filepath.Dir(path)); err != nil {
			return err
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Base(path)})
		if err != nil {
			return err
		}
		l.SetUnlinkOnClose(false)
		return l.Close()
	}},
	{"a symbolic link", func(path string) error { return os.Symlink("/dev/zero", path) }},
}

const oddID = "0190aaaa-0000-7000-8000-0000000000ff" // of no session

// oddPlaces are names in the store's folder that commands open.
func oddPlaces() []string {
	return []string{
		"spool/" + oddID + ".log", "spool/" + oddID + ".lock", "spool/" + oddID + ".damaged", "spool/fold.lock",
		"store/" + time.Now().UTC().Format("200601") + ".db", "store/202511.db", "store/compact.lock",
		"redact.key",
	}
}

// mcprecIn runs a command of its own process, which is killed when it hangs.
func mcprecIn(t *testing.T, home string, args ...string) (code int, out, errs string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "mcprec", args...)
	cmd.Env = append(os.Environ(), "MCPREC_HOME="+home)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); ctx.Err() != nil {
		t.Fatalf("mcprec %s hangs: %v\n%s%s", strings.Join(args, " "), err, &o, &e)
	}
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

// What is no regular file, under any name in the store, hangs or stops no command; verify
// names it, and repair sets it aside.
func TestOddFiles(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base")
	const seed = "0190aaaa-0000-7000-8000-000000000001" // of July 2024
	text, err := os.ReadFile("../../fixtures/seed.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	fixture := filepath.Join(t.TempDir(), "old.jsonl")
	text = bytes.ReplaceAll(text, []byte("01a1fee3-fd30-71a3-95ac-6d331e66740d"), []byte(seed))
	if err := os.WriteFile(fixture, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := mcprecIn(t, base, "import", fixture); code != 0 {
		t.Fatal(errs)
	}
	commands := []struct {
		line  string
		code  int
		want  string // in what it prints
		names bool   // what is odd
	}{
		{"list", 0, "seed", true},
		{"show " + seed, 0, "tools/call", false},
		{"state --at 5 " + seed, 0, "", false},
		{"show --last 10 " + seed, 0, "tools/call", false},
		{"check " + seed, 0, "0 errors", false},
		{"store size", 0, "sessions", true},
		{"export " + seed, 0, "tools/call", true},
		{"redact --scan", 0, "", false},
		{"record -- fakeserver exit 0", 0, "", false},
		{"store prune --kept --keep 0", 0, seed, false},
		{"rm " + seed, 0, seed, false},
		{"store compact", 0, "", false},
		{"__complete show 0190", 0, seed, false},
		{"store verify", 1, "8 faults\n", true},
		{"store repair --dry-run", 0, "8 damaged files\n", true},
		{"store repair", 0, "8 damaged files\n", true},
	}
	for _, kind := range oddKinds {
		t.Run(kind.name, func(t *testing.T) {
			home := filepath.Join(t.TempDir(), "home")
			for _, c := range commands {
				plantOdd(t, home, base, kind.make)
				code, out, errs := mcprecIn(t, home, strings.Fields(c.line)...)
				if code != c.code || !strings.Contains(out, c.want) {
					t.Errorf("mcprec %s: exit code %d, want %d and %q\n%s%s", c.line, code, c.code, c.want, out, errs)
				}
				for _, place := range oddPlaces() {
					said := filepath.Join(home, place) + " is " + kind.name + ", where a file of the store should be"
					if found := strings.Contains(out+errs, said); !found && c.names {
						t.Errorf("%s does not say %q:\n%s%s", c.line, said, out, errs)
					}
				}
			}
			for _, place := range oddPlaces() { // repair was the last command
				if _, err := os.Lstat(filepath.Join(home, place) + ".aside"); err != nil {
					t.Errorf("not set aside: %v", err)
				}
			}
			if code, out, errs := mcprecIn(t, home, "store", "verify"); code != 0 {
				t.Errorf("after repair, verify: exit code %d\n%s%s", code, out, errs)
			}
		})
	}
}

// plantOdd makes home a copy of a store with something odd in every place.
func plantOdd(t *testing.T, home, base string, odd func(path string) error) {
	t.Helper()
	if err := os.RemoveAll(home); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(home, os.DirFS(base)); err != nil {
		t.Fatal(err)
	}
	for _, place := range oddPlaces() {
		path := filepath.Join(home, place)
		_ = os.Mkdir(filepath.Dir(path), 0o700)
		_ = os.Remove(path)
		if err := odd(path); err != nil {
			t.Fatal(err)
		}
	}
}
