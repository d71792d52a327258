package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// The exit codes. record exits with its child's status or dies of its child's signal; it uses
// these codes only if the child has neither.
const (
	exitFine    = 0
	exitVerdict = 1   // a verdict other than pass, a fault found by check, verify or serve --fail, nothing by bisect, a loss by repair, sessions that differ
	exitUsage   = 2   // a flag, an argument, or an ambiguous or unknown session
	exitData    = 3   // a store or a file that cannot be read or written
	exitLost    = 4   // record: the child exited 0, but not all could be recorded
	exitCannot  = 126 // record, serve, drive: the command cannot be run
	exitMissing = 127 // record, serve, drive: there is no such command
)

// exitLine is the help of most commands.
const exitLine = `Exit codes: 0 fine, 2 usage, 3 data that cannot be read or written.`

const exitTable = `Exit codes:
  0    fine
  1    a verdict other than pass, a fault found by check, verify or serve --fail,
       nothing found by bisect, something that repair could not save, or sessions that
       diff finds to differ
  2    usage: a flag, an argument, or a session that cannot be told
  3    a store or a file that cannot be read or written
  4    record: the command exited 0, but not all could be recorded
  126  record, serve, drive: the command cannot be run
  127  record, serve, drive: there is no such command
  record otherwise exits with its command's status, or dies of its signal.`

// status is how a command ends: with an exit code, or by a signal. It is an error so that
// cobra passes it up. Without a cause nothing is printed.
type status struct {
	code   int
	signal os.Signal
	cause  error
}

func (s *status) Error() string {
	if s.cause == nil {
		return fmt.Sprintf("exit status %d", s.code)
	}
	return s.cause.Error()
}

func (s *status) Unwrap() error { return s.cause }

func usagef(format string, args ...any) error {
	return &status{code: exitUsage, cause: fmt.Errorf(format, args...)}
}

// verdictError ends a command with the exit code of a verdict and prints nothing.
var verdictError = &status{code: exitVerdict}

// statusOf maps errors to exit codes.
func statusOf(err error) *status {
	var s *status
	var start *transport.StartError
	switch {
	case err == nil:
		return &status{}
	case errors.As(err, &s):
		return s
	case errors.As(err, &start):
		return &status{code: start.Code, cause: err}
	case errors.Is(err, syscall.EPIPE): // the reader of our output has closed it
		return &status{code: exitFine}
	case errors.Is(err, context.Canceled):
		return &status{code: exitFine}
	case errors.Is(err, store.ErrNotFound):
		return &status{code: exitUsage, cause: err}
	}
	return &status{code: exitData, cause: err}
}

// report prints why a command failed. An argument in the message, such as a file name that a
// shell expanded, cannot forge a line.
func (s *status) report(w io.Writer, args []string) {
	if s.cause == nil {
		return
	}
	text := s.cause.Error()
	for _, arg := range args {
		if strings.Contains(arg, "\n") {
			text = strings.ReplaceAll(text, arg, plain(arg))
		}
	}
	fmt.Fprintf(w, "mcprec: %s\n", text)
}
