//go:build install

package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestScratch: the program needs nothing but itself and a folder to write to, as in the image.
func TestScratch(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: only root changes the root of a process")
	}
	root := t.TempDir()
	in := func(name string) string { return filepath.Join(root, name) }
	contents, err := os.ReadFile(filepath.Join(unpacked(t), "mcprec"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(in("mcprec"), contents, 0o755), os.Mkdir(in("data"), 0o755), os.Mkdir(in("dev"), 0o755), os.Mkdir(in("proc"), 0o755)); err != nil {
		t.Fatal(err)
	}
	// Every container has the null device and /proc.
	const null = 1<<8 | 3
	if err := errors.Join(syscall.Mknod(in("dev/null"), syscall.S_IFCHR|0o666, null), syscall.Mount("proc", in("proc"), "proc", syscall.MS_RDONLY, "")); err != nil {
		t.Skipf("not checked: this root may not mount: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(in("proc"), syscall.MNT_DETACH) })
	c := command(t, "/mcprec")
	c.Err = nil // the path is one in the new root
	c.Env = []string{"MCPREC_HOME=/data", "TMPDIR=/data"}
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	holdDemo(t, c.in("/data"))
}
