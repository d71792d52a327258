//go:build !linux

package child

import (
	"net/http"
	"time"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/procfs"
)

// Process is never made: see [procfs.Supported].
type Process struct {
	Unread bool
	onLinux
}

// onLinux has the methods that a Process has there.
type onLinux interface {
	Settle(Patience) (look procfs.Look, isMoved bool)
	IsGone() bool
	IsInterrupted() bool
	IsStopped() bool
	Pause(time.Duration) bool
	Status() string
	Exit() error
	Terminate()
	Kill()
	Stderr() string
	Stdout() string
	Lines() []string
	Alive() []string
	Wrote(line []byte) []string
	Met() []string
}

// Pipes are never made, either.
type Pipes struct{ pipesOnLinux }

// pipesOnLinux has the methods that Pipes have there.
type pipesOnLinux interface {
	Write([]byte)
	Send([]byte, []int, func())
	Said() []transport.Frame
	Untaken() int
	End()
	Shut()
	HangUp()
	Narrow() int
	Sip() bool
	IsOpen() bool
	IsEnded() bool
	IsAwaited() bool
	Starts() int
	ErrorOutput() *ErrorOutput
}

// StartServer returns an error: processes are played to on Linux.
func StartServer(Program, Place) (*Process, *Pipes, error) { return nil, nil, procfs.Supported() }

// StartClient returns an error.
func StartClient(Program, []string, Place) (*Process, *Pipes, error) {
	return nil, nil, procfs.Supported()
}

// ErrorOutput is never made, either.
type ErrorOutput struct{ errorOutputOnLinux }

// errorOutputOnLinux has the methods that an ErrorOutput has there.
type errorOutputOnLinux interface {
	Write(count int)
	Left() int
	Flush() bool
}

// HTTPListener is never made, either.
type HTTPListener struct{ httpOnLinux }

// httpOnLinux has the methods that an HTTPListener has there.
type httpOnLinux interface {
	Flush()
	Requests() []*HTTPExchange
	HungUp() []*HTTPExchange
	IsOpen() bool
	HangUp()
	Untaken() int
}

// HTTPExchange is never made, either.
type HTTPExchange struct {
	Number  uint64
	Request *http.Request
	Body    []byte
	exchangeOnLinux
}

// exchangeOnLinux has the methods that an HTTPExchange has there.
type exchangeOnLinux interface {
	Respond(status int, header http.Header, body []byte)
	Begin(header http.Header)
	Piece(data []byte)
	Finish()
	BreakOff()
}

// StartHTTPClient returns an error.
func StartHTTPClient(Program, string, Place) (*Process, *HTTPListener, error) {
	return nil, nil, procfs.Supported()
}

// PassOn returns an error.
func PassOn(string) error { return procfs.Supported() }
