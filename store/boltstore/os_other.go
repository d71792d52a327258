//go:build !unix

package boltstore

import "os"

const noFollow, noBlock = 0, 0

// unlock does nothing: the locks of a file are bbolt's own affair here.
func unlock(*os.File) {}

// lockOpen takes no lock: bbolt's is not to be had here. Whoever repairs ends
// the other processes first.
func lockOpen(*os.File, bool) (bool, error) { return true, nil }

// syncDir does nothing: Windows keeps names durable by itself and syncs no folder.
func syncDir(string) error { return nil }
