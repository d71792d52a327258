package check

import (
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/summary"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

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

	took summary.Durations // of the calls whose duration counts
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
	t.took.Remove(took)
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
		tally = &Tally{Name: key.name, Tool: key.tool}
		t[key] = tally
	}
	tally.Calls++
	tally.Requests += uint64(call.bytes)
	if call.method != mcp.MethodListen {
		tally.took.Add(took)
	}
	return tally
}

// all returns the tallies by name, tools first.
func (t tallies) all() []Tally {
	list := make([]Tally, 0, len(t))
	for _, tally := range t {
		tally.P50 = tally.took.Quantile(50)
		tally.P95 = tally.took.Quantile(95)
		tally.P99 = tally.took.Quantile(99)
		tally.Max = tally.took.Max()
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
