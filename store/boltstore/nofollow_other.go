//go:build !unix

package boltstore

const noFollow = 0
