//go:build unix

package cli

import (
	"io/fs"
	"os"
	"syscall"
)

// mayFollow reports whether a symbolic link is ours or root's.
func mayFollow(link fs.FileInfo) bool {
	x, ok := link.Sys().(*syscall.Stat_t)
	return ok && (x.Uid == 0 || int(x.Uid) == os.Geteuid())
}

// giveTo gives a file of ours the owner and the group of another. Where only the group cannot be
// given, the file keeps ours.
func giveTo(name string, like fs.FileInfo) error {
	x, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	err := os.Chown(name, int(x.Uid), int(x.Gid))
	if int(x.Uid) == os.Geteuid() {
		return nil
	}
	return err
}

// NamesOf returns how many names a file has, by hard links; 0 if that is not known.
func NamesOf(name string) uint64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	x, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(x.Nlink)
}
