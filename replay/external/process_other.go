//go:build !linux

package external

import "github.com/mcprec/mcprec/replay/external/quiet"

// process is never made: see [quiet.Supported].
type process struct {
	lines  [][]byte
	unread bool
	gone   bool
	status string
}

func startProcess(Server, string) (*process, error)                { return nil, quiet.Supported() }
func (p *process) write([]byte)                                    {}
func (p *process) untaken() int                                    { return 0 }
func (p *process) settle(patience) (look quiet.Look, isMoved bool) { return look, false }
func (p *process) narrow() int                                     { return 0 }
func (p *process) endInput()                                       {}
func (p *process) kill()                                           {}
func (p *process) stderr() string                                  { return "" }
