// Command dist makes the files of a release from the commit at HEAD:
//
//	mcprec_VERSION_SYSTEM_ARCH.tar.gz, .zip   the program, with manual pages and completions
//	mcprec_VERSION_SYSTEM_ARCH.spdx.json      what the program is made of (SPDX 2.3)
//	mcprec_VERSION_linux_ARCH.deb             the same for Debian and Ubuntu
//	npm/*.tgz                                 for npm: a launcher, and a package a platform
//	Dockerfile                                an image with nothing but the program
//	SHA256SUMS                                of all these, in the format of sha256sum
//
// # What it promises
//
// The same commit and the same Go give the same bytes, in any folder, on any machine: times
// are the commit's, owners are root, and files are in the order of their names. It needs Go,
// git and make, and downloads nothing but the modules of go.mod. Programs are built by
// make build, so anybody can compare them with their own.
//
// # What it refuses
//
// It never builds files that are not committed: it builds a clone of HEAD, and says which
// changes it leaves out. It publishes nothing.
//
// # Source files
//
//	main.go                     the command line
//	release.go                  the steps of a release
//	version.go                  the version, as Go, Debian and npm write it
//	archive.go, deb.go, npm.go  the forms of the files
//	manual.go                   manual pages from the help of the program
//	contents.go                 what the program is made of: licences and SPDX
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	from := flag.String("from", ".", "make the release of the repository in `DIR`")
	out := flag.String("o", "bin/dist", "write to `DIR`, which is emptied first")
	flag.Parse()
	if err := makeRelease(*from, *out, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}
