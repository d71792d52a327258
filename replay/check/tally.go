package check

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
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

// Tally sums up all calls to one tool, or of one method.
type Tally struct {
	Name      string        `json:"name"` // the tool's, or the method
	Tool      bool          `json:"tool"`
	Calls     uint64        `json:"calls"`     // answered or not
	Failed    uint64        `json:"failed"`    // whose answer was an error
	Open      uint64        `json:"open"`      // neither answered nor cancelled
	Cancelled uint64        `json:"cancelled"` // with a late answer or none
	Requests  uint64        `json:"request_bytes"`
	Responses uint64        `json:"response_bytes"`
	P50       time.Duration `json:"p50_ns"`
	P95       time.Duration `json:"p95_ns"`
	P99       time.Duration `json:"p99_ns"`
	Max       time.Duration `json:"max_ns"`

	timed uint64 // calls whose duration counts
	steps map[int]uint64
}

// tallies holds at most 1000 names; further names share a tally.
type tallies map[tallyKey]*Tally

type tallyKey struct {
	name string
	tool bool
}

// addAnswered counts an answered call.
func (t tallies) addAnswered(call *call, took time.Duration, size int, failed bool) *Tally {
	tally := t.add(call, took)
	tally.Responses += uint64(size)
	if failed {
		tally.Failed++
	}
	if call.cancelled.seq != 0 {
		tally.Cancelled++
	}
	return tally
}

// subtract undoes addAnswered, for an answer refused by HTTP. Max stays: the call is
// counted again, and takes no less time.
func (t *Tally) subtract(call *call, took time.Duration, size int, failed bool) {
	t.Calls--
	t.timed--
	t.steps[step(took)]--
	t.Requests -= uint64(call.bytes)
	t.Responses -= uint64(size)
	if failed {
		t.Failed--
	}
	if call.cancelled.seq != 0 {
		t.Cancelled--
	}
}

// add counts a call and its duration.
func (t tallies) add(call *call, took time.Duration) *Tally {
	key := tallyKey{call.method, false}
	if call.method == mcp.MethodCallTool {
		key = tallyKey{call.target, true}
	}
	key.name = phrase.Shorten(key.name, 200)
	if t[key] == nil && len(t) >= 1000 {
		key = tallyKey{"(others)", false}
	}
	tally := t[key]
	if tally == nil {
		tally = &Tally{Name: key.name, Tool: key.tool, steps: map[int]uint64{}}
		t[key] = tally
	}
	tally.Calls++
	tally.Requests += uint64(call.bytes)
	if call.method != mcp.MethodListen {
		tally.timed++
		tally.Max = max(tally.Max, took)
		tally.steps[step(took)]++
	}
	return tally
}

// all returns the tallies by name, tools first.
func (t tallies) all() []Tally {
	list := make([]Tally, 0, len(t))
	for _, tally := range t {
		tally.P50 = tally.quantile(50)
		tally.P95 = tally.quantile(95)
		tally.P99 = tally.quantile(99)
		list = append(list, *tally)
	}
	slices.SortFunc(list, func(a, b Tally) int {
		switch {
		case a.Tool == b.Tool:
			return strings.Compare(a.Name, b.Name)
		case a.Tool:
			return -1
		}
		return 1
	})
	return list
}

// quantile returns the longest duration of the fastest percent of the calls.
func (t *Tally) quantile(percent uint64) time.Duration {
	rank := max((t.timed*percent+99)/100, 1)
	for _, n := range slices.Sorted(maps.Keys(t.steps)) {
		if count := t.steps[n]; count < rank {
			rank -= count
			continue
		}
		longest := time.Duration(n) // of the step
		if n >= 2*stepsPerDoubling {
			shift := n/stepsPerDoubling - 1
			longest = time.Duration((uint64(n-shift*stepsPerDoubling)+1)<<shift - 1)
		}
		return min(longest, t.Max)
	}
	return t.Max
}

// stepsPerDoubling is how many steps there are from a duration to the double.
const stepsPerDoubling = 128

// step numbers a duration: the first 2·stepsPerDoubling are exact, above them a step is less
// than one hundredth of the duration.
func step(d time.Duration) int {
	n := uint64(max(d, 0))
	if n < 2*stepsPerDoubling {
		return int(n)
	}
	shift := bits.Len64(n) - bits.Len64(stepsPerDoubling)
	return shift*stepsPerDoubling + int(n>>shift)
}
