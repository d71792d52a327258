//go:build !linux

package boltstore

func willNeed([]byte) {}
