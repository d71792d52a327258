package sharing

import (
	"fmt"
	"syscall"
)

// The file systems of Linux by their numbers, which statfs(2) lists.
var (
	localDisks   = map[int64]string{0xef53: "ext4", 0x58465342: "xfs", 0x9123683e: "btrfs", 0x2fc12fc1: "zfs", 0x01021994: "tmpfs", 0xf2f52010: "f2fs", 0x794c7630: "overlay", 0xca451a4e: "bcachefs", 0x65735546: "fuse"}
	networkDisks = map[int64]string{0x6969: "nfs", 0xff534d42: "cifs", 0xfe534d42: "smb2", 0x517b: "smb", 0x00c36400: "ceph", 0x01021997: "9p", 0x5346414f: "afs", 0x0bd00bd0: "lustre", 0x47504653: "gpfs"}
)

// disk returns the file system of a folder, whether it is on another machine, and how much room it
// has for this user; -1: that is not known.
func disk(path string) (name string, isNetwork bool, free int64) {
	var facts syscall.Statfs_t
	if err := syscall.Statfs(path, &facts); err != nil {
		return "", false, -1
	}
	free = int64(facts.Bavail) * int64(facts.Bsize)
	number := int64(uint32(facts.Type)) // a signed 32-bit number on some machines
	if name, ok := networkDisks[number]; ok {
		return name, true, free
	}
	if name, ok := localDisks[number]; ok {
		return name, false, free
	}
	return fmt.Sprintf("file system %#x", number), false, free
}
