package check

import (
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/schema"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Tally is what all calls to one tool, or of one method, came to.
type Tally struct {
	Name      string        `json:"name"` // the tool's, or the method
	Tool      bool          `json:"tool"`
	Calls     uint64        `json:"calls"`     // answered or not
	Failed    uint64        `json:"failed"`    // whose answer was an error
	Open      uint64        `json:"open"`      // that had no answer and were not cancelled
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

// mostTallies is how many names are told apart; the others are one.
const mostTallies = 1000

const others = "(others)"

type tallyKey struct {
	name string
	tool bool
}

type tallies map[tallyKey]*Tally

// add counts a call that was answered.
func (t tallies) add(c *call, took time.Duration, size int, failed bool) *Tally {
	one := t.count(c, took)
	one.Responses += uint64(size)
	if failed {
		one.Failed++
	}
	if c.cancelled.seq != 0 {
		one.Cancelled++
	}
	return one
}

// takesBack undoes add, of an answer that nobody has. Max stays: the call is counted again,
// and took no less time.
func (t *Tally) takesBack(c *call, took time.Duration, size int, failed bool) {
	t.Calls--
	t.timed--
	t.steps[step(took)]--
	t.Requests -= uint64(c.bytes)
	t.Responses -= uint64(size)
	if failed {
		t.Failed--
	}
	if c.cancelled.seq != 0 {
		t.Cancelled--
	}
}

// count counts a call and how long it took.
func (t tallies) count(c *call, took time.Duration) *Tally {
	k := tallyKey{c.method, false}
	if c.method == mcp.MethodCallTool {
		k = tallyKey{c.target, true}
	}
	k.name = phrase.Shorten(k.name, 200)
	one := t[k]
	if one == nil {
		if len(t) >= mostTallies {
			k = tallyKey{others, false}
		}
		if one = t[k]; one == nil {
			one = &Tally{Name: k.name, Tool: k.tool, steps: map[int]uint64{}}
			t[k] = one
		}
	}
	one.Calls++
	one.Requests += uint64(c.bytes)
	if c.method != mcp.MethodListen {
		one.timed++
		one.Max = max(one.Max, took)
		one.steps[step(took)]++
	}
	return one
}

// all returns the tallies by name, tools first.
func (t tallies) all() []Tally {
	keys := slices.SortedFunc(maps.Keys(t), func(a, b tallyKey) int {
		if a.tool != b.tool && a.tool {
			return -1
		} else if a.tool != b.tool {
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	list := make([]Tally, len(keys))
	for i, k := range keys {
		one := t[k]
		one.P50, one.P95, one.P99 = one.quantile(50), one.quantile(95), one.quantile(99)
		list[i] = *one
	}
	return list
}

// quantile returns how long the fastest percent of the calls took at most.
func (t *Tally) quantile(percent uint64) time.Duration {
	rank := max((t.timed*percent+99)/100, 1)
	for _, n := range slices.Sorted(maps.Keys(t.steps)) {
		if count := t.steps[n]; count < rank {
			rank -= count
			continue
		}
		return min(upper(n), t.Max)
	}
	return t.Max
}

// fine is how many steps there are from a duration to its double.
const fine = 128

// step numbers a duration: 0 to 2·fine-1 are exact, above them a step is less than
// one hundredth of the duration.
func step(d time.Duration) int {
	n := uint64(max(d, 0))
	if n < 2*fine {
		return int(n)
	}
	shift := bits.Len64(n) - bits.Len64(fine)
	return shift*fine + int(n>>shift)
}

// upper returns the longest duration of a step.
func upper(n int) time.Duration {
	if n < 2*fine {
		return time.Duration(n)
	}
	shift := n/fine - 1
	return time.Duration((uint64(n-shift*fine)+1)<<shift - 1)
}

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
	if c.method != mcp.MethodCallTool || c.dir != transport.ClientToServer {
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
	if g.MaxDuration == 0 || took <= g.MaxDuration || c.slow || c.dir != transport.ClientToServer || c.method == mcp.MethodListen {
		return false
	}
	c.slow = true
	return true
}
