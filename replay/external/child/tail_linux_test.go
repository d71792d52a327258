//go:build amd64 || arm64

package child

import (
	"strings"
	"syscall"
	"testing"

	"github.com/mcprec/mcprec/transport/leftover"
	"github.com/mcprec/mcprec/transport/procfs"
)

// TestTailIsShort holds that what a process writes to its standard error takes little of the disk, however much it is,
// and that its last words are told.
func TestTailIsShort(t *testing.T) {
	const script = "yes | head -c 300000000 >&2; echo Error: boom >&2; exec sleep 1000"
	run, err := leftover.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer run.End()
	p, _, err := StartServer(Program{Command: []string{"sh", "-c", script}}, Place{Run: run, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	for look := (procfs.Look{}); look.Activity != procfs.Timed; { // it has written all
		look, _ = p.Settle(Searching)
		if look.Activity == procfs.Ended {
			t.Fatalf("it ended: %s", p.status)
		}
	}
	p.shorten()
	info, err := p.errors.file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	disk := info.Sys().(*syscall.Stat_t).Blocks * 512
	if info.Size() < 300e6 || disk > 2*slack {
		t.Errorf("%d bytes were written, and %d are on the disk", info.Size(), disk)
	}
	if got := p.Stderr(); got != "Error: boom" {
		t.Errorf("its last words: %q", got)
	}
}

// TestTailAfterAHole holds that the last words are told also of a file whose beginning is gone.
func TestTailAfterAHole(t *testing.T) {
	tail, err := newTail(t.TempDir(), 100)
	if err != nil {
		t.Fatal(err)
	}
	defer tail.close()
	for _, text := range []string{strings.Repeat("x", 50), "boom"} {
		if _, err := tail.file.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if text != "boom" {
			err = tail.file.Truncate(0)
		}
	}
	if got := string(tail.text()); got != "boom" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestStderr holds which line of its standard error output tells why a process has ended.
func TestStderr(t *testing.T) {
	for text, want := range map[string]string{
		"":         "",
		"a\nb\n\n": "b",
		"Traceback (most recent call last):\n  File \"x.py\", line 1\nValueError: no\n": "ValueError: no",
		"node:events:497\n      throw er;\n      ^\n\nError: listen EADDRINUSE\n    at Server.listen (node:net:1)\nEmitted 'error' event on Server instance at:\n    at x {\n  code: 'E'\n}\n\nNode.js v20.20.2\n": "Error: listen EADDRINUSE",
		"file.js:1\nthrow new Error('no')\n^\n\nError: no\n    at file.js:1:7\n\nNode.js v20.20.2\n":                                                                                                               "Error: no",
		"Error [ERR_X]: no {\n  code: 'ERR_X'\n}\n": "Error [ERR_X]: no",
		"panic: no [recovered]\n\ngoroutine 7 [running]:\nmain.f()\n\t/x/main.go:254 +0x2fc\ncreated by x\n\t/x/conn.go:684 +0x1fa\n": "panic: no [recovered]",
		"  indented alone": "indented alone",
	} {
		tail, err := newTail(t.TempDir(), 1<<20)
		if err == nil {
			_, err = tail.file.WriteString(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := (&Process{errors: tail}).Stderr(); got != want {
			t.Errorf("of %q: %q, want %q", text, got, want)
		}
		tail.close()
	}
}
