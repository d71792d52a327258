package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"
)

// Disk is an ext4 file system in a file, whose power can be cut.
type Disk struct {
	Dir string // where it is mounted

	t     testing.TB
	image string
}

// NewDisk makes and mounts a disk. It skips the test where the process may not mount one: it needs
// root, loop devices and mkfs.ext4.
func NewDisk(t testing.TB) *Disk {
	t.Helper()
	dir := t.TempDir()
	d := &Disk{t: t, Dir: filepath.Join(dir, "disk"), image: filepath.Join(dir, "image")}
	if err := os.Mkdir(d.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"truncate", "-s", "512M", d.image},
		{"mkfs.ext4", "-q", "-F", d.image},
		{"mount", "-o", "loop", d.image, d.Dir},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Skipf("cannot mount an ext4 image: %v: %v: %s", command, err, out)
		}
	}
	t.Cleanup(func() { d.run("umount", d.Dir) })
	return d
}

// Sync writes everything to the disk, as time would have done.
func (d *Disk) Sync() { d.t.Helper(); d.run("sync", "-f", d.Dir) }

// CutPower has the file system forget what was not synced. Every call on it fails from then on.
func (d *Disk) CutPower() {
	d.t.Helper()
	const (
		shutdownRequest = 0x8004587d // EXT4_IOC_SHUTDOWN of linux/fs/ext4
		withoutJournal  = 2          // EXT4_GOING_FLAGS_NOLOGFLUSH
	)
	root, err := os.Open(d.Dir)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	flags := uint32(withoutJournal)
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, root.Fd(), shutdownRequest, uintptr(unsafe.Pointer(&flags)))
	if errno != 0 {
		d.t.Fatalf("shut down %s: %v", d.Dir, errno)
	}
}

// Restore mounts the disk again, as the machine does when the power is back. Nobody may have a file
// of it open.
func (d *Disk) Restore() {
	d.t.Helper()
	d.run("umount", d.Dir)
	d.run("mount", "-o", "loop", d.image, d.Dir)
}

func (d *Disk) run(command ...string) {
	d.t.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		d.t.Errorf("%v: %v: %s", command, err, out)
	}
}
