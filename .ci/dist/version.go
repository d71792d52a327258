package main

import (
	"fmt"
	"regexp"
	"strings"
)

// firstRelease is the version that commits lead to as long as none has a tag.
const firstRelease = "0.1.0"

// pseudoVersion matches the version that Go makes up for a commit without a tag: the tag
// before it, if there is one, with the time and the commit (go.dev/ref/mod#pseudo-versions).
var pseudoVersion = regexp.MustCompile(`^v(\d+\.\d+\.\d+)-(?:0\.|(.+)\.0\.)?(\d{14})-([0-9a-f]{12})$`)

// taggedVersion matches a version of a tag.
var taggedVersion = regexp.MustCompile(`^v(\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?)$`)

// releaseVersion returns the version of a release without v: that of the tag, as 0.1.0, or
// for a commit without one 0.1.0-dev.TIME.gCOMMIT, which sorts before the next release. stamped is
// the module's version in the built program.
func releaseVersion(stamped string) (string, error) {
	if pseudo := pseudoVersion.FindStringSubmatch(stamped); pseudo != nil {
		next, preRelease, time, commit := pseudo[1], pseudo[2], pseudo[3], pseudo[4]
		switch {
		case next == "0.0.0":
			next = firstRelease
		case preRelease != "":
			return fmt.Sprintf("%s-%s.dev.%s.g%s", next, preRelease, time, commit), nil
		}
		return fmt.Sprintf("%s-dev.%s.g%s", next, time, commit), nil
	}
	if tag := taggedVersion.FindStringSubmatch(stamped); tag != nil {
		return tag[1], nil
	}
	return "", fmt.Errorf("the built program has version %q: build a clean clone, with git", stamped)
}

// debianVersion returns a version as Debian writes it: ~ sorts before the end of a text.
func debianVersion(version string) string { return strings.Replace(version, "-", "~", 1) }
