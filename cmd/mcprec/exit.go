// Command mcprec records, keeps and replays MCP sessions. See the README for a
// tour, and mcprec help for the commands.
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

// The exit codes, in one table. record passes its child's status through and
// dies of its child's signal; the others apply to it when the child has none.
const (
	exitFine    = 0
	exitVerdict = 1   // a verdict other than pass, a fault found by check, verify or serve --fail, nothing by bisect, a loss by repair, sessions that differ
	exitUsage   = 2   // a flag, an argument, or a session that cannot be told
	exitData    = 3   // a store or a file that cannot be read or written
	exitLost    = 4   // record: the child exited 0, but not all could be recorded
	exitCannot  = 126 // record, serve, drive: the command cannot be run
	exitMissing = 127 // record, serve, drive: there is no such command
)

// exitLine names the codes that most commands can end with.
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

// status is how a command ends: an exit code, or the signal to die of. It is
// an error so that cobra passes it up; Cause is nil when nothing is left to say.
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

// verdictError ends a command with the verdict's exit code and no further words.
var verdictError = &status{code: exitVerdict}

// statusOf is the one place where errors become exit codes.
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
	case errors.Is(err, syscall.EPIPE): // the reader of our output has seen enough
		return &status{code: exitFine}
	case errors.Is(err, context.Canceled):
		return &status{code: exitFine}
	case errors.Is(err, store.ErrNotFound):
		return &status{code: exitUsage, cause: err}
	}
	return &status{code: exitData, cause: err}
}

// report says on w why a command failed, if there is something to say. An argument in
// it, as the name of a file that a shell found, cannot forge a line.
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
