//go:build !linux

package boltstore

import "os"

// datasync makes a file's bytes durable.
func datasync(f *os.File) error { return f.Sync() }
