//go:build amd64 || arm64

package external

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
	p, _, err := startServer(Server{Command: []string{"sh", "-c", script}}, place{Run: run, dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.kill()
	for look := (procfs.Look{}); look.Activity != procfs.Timed; { // it has written all
		look, _ = p.settle(searching)
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
	if got := p.stderr(); got != "Error: boom" {
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
