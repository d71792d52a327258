//go:build !unix

package boltstore

import "os"

// letGo releases bbolt's lock on a file that bbolt cannot close any more.
func letGo(f *os.File) { _ = f.Close() }
