//go:build !linux

package boltstore

// dirtyPages cannot be asked for here.
func dirtyPages(string) uint64 { return 0 }
