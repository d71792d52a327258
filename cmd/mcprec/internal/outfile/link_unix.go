//go:build unix

package outfile

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
