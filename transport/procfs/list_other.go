//go:build !linux || (!amd64 && !arm64)

package procfs

import "time"

// List returns an error: no other system shows who holds which pipe.
func List() ([]Seen, error) { return nil, Supported() }

// Peek is never called.
func Peek(int, int, int) (Unread, error) { return Unread{}, Supported() }

// OtherEnd returns "".
func OtherEnd(string) string { return "" }

// LastRan returns false.
func LastRan(int) (time.Duration, bool) { return 0, false }

// Counts returns false.
func Counts(int) (read, written uint64, ok bool) { return 0, 0, false }

// Address returns "".
func Address(int, string) string { return "" }

// Memory returns an error.
func Memory(int, int64, func([]byte)) (bool, error) { return false, Supported() }

// Switches returns nothing.
func Switches(int) map[string]uint64 { return nil }
