//go:build !unix

package cli

import (
	"os"
	"syscall"
)

// DieOf exits: no signal kills here.
func DieOf(os.Signal) { os.Exit(ExitData) }

// ForwardedSignals returns the signals that record passes on to its child.
func ForwardedSignals() []os.Signal { return []os.Signal{os.Interrupt} }

// EndSignals returns the signals that end a command which then cleans up.
func EndSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// FromTerminal: a console sends its interrupt to every process attached to it.
func FromTerminal(os.Signal) bool { return true }

// KeepPipeErrors does nothing: there is no SIGPIPE here.
func KeepPipeErrors() {}

// MoveStdio does nothing: descriptors are not reused by number here.
func MoveStdio(std Streams) (Streams, error) { return std, nil }

// Peek returns nothing: here a pipe cannot be looked into.
func Peek(*os.File) []byte { return nil }
