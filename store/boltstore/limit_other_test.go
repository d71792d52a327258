//go:build !unix

package boltstore

import "errors"

func limitFiles(uint64) error { return errors.ErrUnsupported }
