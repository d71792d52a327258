//go:build !linux

package boltstore

func address([]byte) uintptr { return 0 }

func willNeed(_, _ uintptr) {}
