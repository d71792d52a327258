//go:build !unix

package boltstore

import "os"

const noFollow, noBlock = 0, 0

// modesTell is false: Go makes modes up here, where lists of rights say who may write. The folders
// of a user, in which the store is by default, are the user's alone.
const modesTell = false

const replaceNeedsClosed = true // neither an open file nor a mapped one can be replaced here

// unlock does nothing: only bbolt can lock its files here.
func unlock(*os.File) {}

// lockOpen takes no lock: only bbolt can lock its files here. Users end other processes before
// a repair.
func lockOpen(*os.File, bool) (bool, error) { return true, nil }

// syncDir does nothing: Windows keeps names durable by itself and cannot sync a folder.
func syncDir(string) error { return nil }
