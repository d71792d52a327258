package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"strings"
	"time"
)

// debian is a package for Debian: what its control file says, and the files below /.
type debian struct {
	Version      string
	Architecture string // as Debian names it
	Files        []file
}

// control is the control file, of deb-control(5).
const control = `Package: mcprec
Version: %s
Architecture: %s
Maintainer: The mcprec authors <mcprec@users.noreply.github.com>
Installed-Size: %d
Section: devel
Priority: optional
Homepage: https://github.com/mcprec/mcprec
Description: record, replay and explain MCP sessions
 mcprec stands between an MCP client and its server and records both directions
 byte for byte in true order. It replays a session through a bounded transport,
 says who waits for whom when one hangs, and stands in for either side in tests.
`

// pack returns the package: an ar archive of three members (deb(5)). dpkg reads the two
// tar.gz in every release; the program inside is static and depends on no other package.
func (d debian) pack(when time.Time) ([]byte, error) {
	var sums strings.Builder
	size := 0
	for _, f := range sorted(d.Files) {
		size += (len(f.Contents) + 1023) / 1024
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.Contents), f.Name) // dpkg has no other kind
	}
	about, err := tarball([]file{
		{"./control", text, fmt.Appendf(nil, control, debianVersion(d.Version), d.Architecture, size)},
		{"./md5sums", text, []byte(sums.String())},
	}, when, false)
	if err != nil {
		return nil, err
	}
	dotted := make([]file, 0, len(d.Files)) // dpkg lists names that begin with a dot
	for _, f := range d.Files {
		dotted = append(dotted, file{"./" + f.Name, f.Mode, f.Contents})
	}
	data, err := tarball(dotted, when, true)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString("!<arch>\n")
	for _, member := range []file{
		{"debian-binary", 0o100644, []byte("2.0\n")},
		{"control.tar.gz", 0o100644, about},
		{"data.tar.gz", 0o100644, data},
	} {
		fmt.Fprintf(&out, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", member.Name, when.Unix(), 0, 0, uint32(member.Mode), len(member.Contents))
		out.Write(member.Contents)
		if len(member.Contents)%2 != 0 {
			out.WriteByte('\n')
		}
	}
	return out.Bytes(), nil
}
