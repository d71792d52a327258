//go:build !unix

package clientconfig

import "errors"

func makePipe(string) error { return errors.ErrUnsupported }
