package check

import (
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/schema"
	"github.com/mcprec/mcprec/transport"
)

// Gate is what the user asks of a session beside the rules.
type Gate struct {
	MaxDuration time.Duration // of a call of the client, answered or not; 0: any
	Expect      []string      // tools that must be called
	Forbid      []string      // tools that must not be
	Baseline    *Baseline     // what the tools must be; nil: anything

	FailOnTimeout bool // a call whose sender gave up waiting is an error

	Schema *schema.Validator // what messages must fit; nil: anything
}

// calls takes note of a request.
func (g *Gate) calls(f *Fold, c *call) {
	if c.method != "tools/call" || c.dir != transport.ClientToServer {
		return
	}
	if slices.Contains(g.Forbid, c.target) {
		f.finds(forbidden, c.dir, "", []uint64{c.seq}, "the client called the tool %s", quote(c.target))
	}
	if i := slices.Index(g.Expect, c.target); i >= 0 {
		g.Expect = slices.Delete(slices.Clone(g.Expect), i, i+1)
	}
}

// answered takes note of how long a call took.
func (g *Gate) answered(f *Fold, c *call, seq uint64, took time.Duration) {
	if g.exceeds(c, took) {
		f.finds(tooLong, transport.ServerToClient, "", []uint64{seq, c.seq}, "%v took %v, more than %v", c, phrase.Brief(took), g.MaxDuration)
	}
}

// waits takes note of how long a call has waited that was cancelled or left.
func (g *Gate) waits(f *Fold, c *call, seq uint64, waited time.Duration) {
	if g.exceeds(c, waited) {
		f.finds(tooLong, transport.ServerToClient, "", []uint64{seq, c.seq}, "%v waited %v without an answer, more than %v", c, phrase.Brief(waited), g.MaxDuration)
	}
}

// exceeds reports whether a call takes too long, once for each.
func (g *Gate) exceeds(c *call, took time.Duration) bool {
	if g.MaxDuration == 0 || took <= g.MaxDuration || c.slow || c.dir != transport.ClientToServer || c.method == methodListen {
		return false
	}
	c.slow = true
	return true
}

// close takes note of the end.
func (g *Gate) close(f *Fold) {
	for _, tool := range g.Expect {
		f.finds(expected, transport.ClientToServer, "", []uint64{f.seq}, "the client never called the tool %s", quote(tool))
	}
	f.missing()
}
