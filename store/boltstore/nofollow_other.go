//go:build !unix

package boltstore

const noFollow, noWait = 0, 0
