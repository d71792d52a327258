// Package releases knows the releases of a package in a registry, installs one in a folder, and finds the
// releases at which an outcome changes.
//
// # What it promises
//
// The registry is asked by its ordinary client: npm, or go. Whatever that client is set up with counts: a proxy, a
// mirror, a folder. A release is installed in a folder of its own, beside a copy of the user's project if there is
// one; the project itself is not changed. What is installed is what was asked for, or it is an error.
//
// # Data layout
//
// A [Range] names a package and the first and the last release of interest. A [Registry] lists the releases
// between them, oldest first, and installs one. [Search] tries as few of a list as it can, and returns the [Change]s:
// the neighbours whose outcomes differ.
//
// # Source files
//
//	range.go     the text of a range, and the order of versions
//	registry.go  what a registry is; the copy of a project
//	npm.go       the registry of npm
//	gomod.go     Go modules
//	search.go    which releases are tried
//
// # What it refuses to do
//
// It reads no registry by itself, and caches nothing. It judges no release: the caller does.
package releases
