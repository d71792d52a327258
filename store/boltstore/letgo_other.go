//go:build !unix

package boltstore

import "os"

// letGo releases bbolt's lock on a file that bbolt cannot close any more.
func letGo(f *os.File) { _ = f.Close() }

// unlock does nothing: the locks of a file are bbolt's own affair here.
func unlock(*os.File) {}

// lockOpen takes no lock: bbolt's is not to be had here. Whoever repairs ends
// the other processes first.
func lockOpen(*os.File, bool) (bool, error) { return true, nil }
