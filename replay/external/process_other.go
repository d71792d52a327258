//go:build !linux

package external

import "github.com/mcprec/mcprec/replay/external/quiet"

// process is never made: see [quiet.Supported].
type process struct {
	in     int
	lines  [][]byte
	unread bool
	ended  bool
	gone   bool
	status string
	door   *door
}

type door struct{ starts int }

func (d *door) isAwaited() bool { return false }

func startServer(Server, string) (*process, error)                 { return nil, quiet.Supported() }
func startClient(Client, string) (*process, error)                 { return nil, quiet.Supported() }
func (p *process) write([]byte)                                    {}
func (p *process) untaken() int                                    { return 0 }
func (p *process) settle(patience) (look quiet.Look, isMoved bool) { return look, false }
func (p *process) endInput()                                       {}
func (p *process) hangUp()                                         {}
func (p *process) narrow() int                                     { return 0 }
func (p *process) kill()                                           {}
func (p *process) stderr() string                                  { return "" }
func (p *process) stdout() string                                  { return "" }

// PassOn returns an error: clients are explored on Linux.
func PassOn(string) error { return quiet.Supported() }
