//go:build !linux

package external

import (
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/procfs"
)

// process is never made: see [procfs.Supported].
type process struct {
	unread    bool
	gone      bool
	stop      <-chan struct{}
	isStopped bool
	exit      error
	status    string
}

type pipes struct {
	in       int
	ended    bool
	listener *listener
}

// web is never made.
type web struct {
	connection
	exchanges
}

type listener struct{ starts int }

func (l *listener) isAwaited() bool { return false }

func startServer(Server, place) (*process, *pipes, error) { return nil, nil, procfs.Supported() }
func startClient(Client, place) (*process, *pipes, error) { return nil, nil, procfs.Supported() }
func startWebServer(Server, bool, place) (*process, *web, error) {
	return nil, nil, procfs.Supported()
}
func (p *process) settle(patience) (look procfs.Look, isMoved bool) { return look, false }
func (p *process) kill()                                            {}
func (p *process) stderr() string                                   { return "" }
func (p *process) stdout() string                                   { return "" }
func (p *process) lines(*fault) []string                            { return nil }
func (p *pipes) write([]byte)                                       {}
func (p *pipes) untaken() int                                       { return 0 }
func (p *pipes) send([]sending, []int, func())                      {}
func (p *pipes) said() []transport.Frame                            { return nil }
func (p *pipes) end()                                               {}
func (p *pipes) hangUp()                                            {}
func (p *pipes) narrow() int                                        { return 0 }

// PassOn returns an error: clients are explored on Linux.
func PassOn(string) error { return procfs.Supported() }
