package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/schema"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Rules G1, G2, G3 and G5.
var (
	withinLimit   = newDemand("G1", "no call takes longer than --max-duration", order.Error, "")
	expectedTool  = newDemand("G2", "the tools of --expect-tool are called", order.Error, "")
	forbiddenTool = newDemand("G3", "the tools of --forbid-tool are not called", order.Error, "")
	toolSucceeds  = newDemand("G5", "with --fail-on-tool-error no call to a tool fails", order.Error, "")
)

// Gate holds the user's own rules for a session.
type Gate struct {
	MaxDuration time.Duration // of a call of the client, answered or not; 0: any
	Expect      []string      // tools that must be called
	Forbid      []string      // tools that must not be called
	Baseline    *Baseline     // the tools must be as in it; nil: anything

	FailOnTimeout   bool // a call is an error if the sender gave up waiting
	FailOnToolError bool // a call to a tool is an error if the result has isError, or the answer is an error

	Schema *schema.Validator // messages must fit it; nil: anything
}

// onRequest is rule G3, and notes a tool for rule G2.
func (g *Gate) onRequest(reporter *reporter, call *call) {
	if call.method != mcp.MethodCallTool || call.dir != transport.ClientToServer {
		return
	}
	if slices.Contains(g.Forbid, call.target) {
		reporter.report(forbiddenTool, call.dir, "", []uint64{call.seq}, "the client called the tool %s", quote(call.target))
	}
	if i := slices.Index(g.Expect, call.target); i >= 0 {
		g.Expect = slices.Delete(slices.Clone(g.Expect), i, i+1)
	}
}

// judgeDuration is rule G1, once for each call. A call without an answer was cancelled, or
// waited to the end of the recording.
func (g *Gate) judgeDuration(r *reporter, c *call, seq uint64, took time.Duration, answered bool) {
	if g.MaxDuration == 0 || took <= g.MaxDuration || c.overLimit || c.dir != transport.ClientToServer || c.method == mcp.MethodListen {
		return
	}
	c.overLimit = true
	said := fmt.Sprintf("waited %v without an answer", phrase.Brief(took))
	if answered {
		said = fmt.Sprintf("took %v", phrase.Brief(took))
	}
	r.report(withinLimit, transport.ServerToClient, "", []uint64{seq, c.seq}, "%v %s, more than %v", c, said, g.MaxDuration)
}

// judgeToolAnswer is rule G5: said is how the answer failed, in words.
func (g *Gate) judgeToolAnswer(r *reporter, c *call, seq uint64, said string) {
	if g.FailOnToolError && c.method == mcp.MethodCallTool && c.dir == transport.ClientToServer {
		r.report(toolSucceeds, transport.ServerToClient, "", []uint64{seq, c.seq}, "%v failed: %s", c, said)
	}
}
