// Command bundle makes the page of mcprec view: the sources in ../page become one script and
// one style sheet in ../dist.
//
//	go run -C cmd/mcprec/internal/view/bundle .
//
// # What it promises
//
// The same sources give the same bytes. It needs Go alone: esbuild is a library of this module,
// which is apart from the main one so that users of mcprec do not download it. Its tests hold the
// committed dist to the sources, the vendored files to their hashes, and the sizes to their limits.
//
// # Layout
//
// main.go builds and writes. ../page/vendor has preact as it was published, its licence, and
// SHA256SUMS, in the format of sha256sum.
//
// # What it refuses
//
// It downloads nothing, and writes nothing when a source has a fault.
package main
