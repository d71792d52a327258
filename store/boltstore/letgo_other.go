//go:build !unix

package boltstore

import "os"

// letGo releases bbolt's lock on a file that bbolt cannot close any more.
func letGo(f *os.File) { _ = f.Close() }

// The locks of a file are bbolt's own affair here.
const canRelock = false

func unlock(*os.File) {}

func relock(*os.File) bool { return false }

// lockOpen takes no lock: bbolt's is not to be had here. Whoever repairs ends
// the other processes first.
func lockOpen(*os.File, bool) (bool, error) { return true, nil }
