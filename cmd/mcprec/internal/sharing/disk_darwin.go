package sharing

import (
	"slices"
	"syscall"
)

// disk returns the file system of a folder, whether it is on another machine, and how much room it
// has for this user; -1: that is not known.
func disk(path string) (name string, isNetwork bool, free int64) {
	var facts syscall.Statfs_t
	if err := syscall.Statfs(path, &facts); err != nil {
		return "", false, -1
	}
	for _, letter := range facts.Fstypename {
		if letter == 0 {
			break
		}
		name += string(rune(letter))
	}
	return name, slices.Contains([]string{"nfs", "smbfs", "afpfs", "webdav", "macfuse"}, name), int64(facts.Bavail) * int64(facts.Bsize)
}
