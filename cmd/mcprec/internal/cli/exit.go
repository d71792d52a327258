package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// The exit codes. The status or the signal of the child takes precedence in record.
const (
	ExitFine    = 0
	ExitVerdict = 1 // a verdict, a fault or a difference; see the help
	ExitUsage   = 2 // a flag, an argument, or an ambiguous or unknown session
	ExitData    = 3 // an unreadable store or file, or a failed write
	ExitLost    = 4 // record: the child exited 0, but not all could be recorded
)

// Status is the end of a command: an exit code or a signal. As an error it passes through cobra.
// A Status without a cause is silent.
type Status struct {
	Code   int
	Signal os.Signal
	Cause  error
}

// Error returns the text of the cause.
func (s *Status) Error() string {
	if s.Cause == nil {
		return fmt.Sprintf("exit status %d", s.Code)
	}
	return s.Cause.Error()
}

// Unwrap returns the cause.
func (s *Status) Unwrap() error { return s.Cause }

// Usagef returns an error with the exit code ExitUsage.
func Usagef(format string, args ...any) error {
	return &Status{Code: ExitUsage, Cause: fmt.Errorf(format, args...)}
}

// ErrVerdict ends a command with the exit code of a verdict and prints nothing.
var ErrVerdict = &Status{Code: ExitVerdict}

// StatusOf maps errors to exit codes.
func StatusOf(err error) *Status {
	var s *Status
	var start *transport.StartError
	switch {
	case err == nil:
		return &Status{}
	case errors.As(err, &s):
		return s
	case errors.As(err, &start):
		if start.Code == 127 && strings.Contains(start.Command, " ") { // as in a configuration
			err = fmt.Errorf("%w; it is one argument with blanks: make each word an argument of its own", err)
		}
		return &Status{Code: start.Code, Cause: err}
	case errors.Is(err, syscall.EPIPE): // the reader of our output has gone
		return &Status{Code: ExitFine}
	case errors.Is(err, context.Canceled):
		return &Status{Code: ExitFine}
	case errors.Is(err, store.ErrNotFound):
		return &Status{Code: ExitUsage, Cause: err}
	}
	return &Status{Code: ExitData, Cause: err}
}

// Report prints why a command failed. An argument in the message, such as a file name from a
// shell's expansion, cannot forge a line.
func (s *Status) Report(w io.Writer, args []string) {
	if s.Cause == nil {
		return
	}
	text := s.Cause.Error()
	for _, arg := range args {
		if strings.Contains(arg, "\n") {
			text = strings.ReplaceAll(text, arg, output.Plain(arg))
		}
	}
	fmt.Fprintf(w, "mcprec: %s\n", text)
}
