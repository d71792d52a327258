package explore

import (
	"fmt"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// recordedCall is a request of a recorded half, which is an operation of the run.
type recordedCall struct {
	name     string // tools/call "search"#1
	dir      transport.Direction
	request  int // number of the frame in its direction, from 1
	response int // number of the frame in the other one; 0: it was not answered
	id       mcp.Key
	// cancelled: the caller gave up, and a response need not come.
	cancelled bool
	listen    bool // its response only ends a stream
}

// recordedCalls lists the requests of both ends in recorded order.
func recordedCalls(events []store.Event) ([]recordedCall, error) {
	numbers := make(map[uint64]int, len(events)) // by Seq
	var count [3]int
	pairs := replay.NewCalls()
	for _, e := range events {
		if e.Kind == store.Frame {
			count[e.Dir]++
			numbers[e.Seq] = count[e.Dir]
		}
		if err := pairs.Apply(e); err != nil {
			return nil, err
		}
	}
	seen := map[string]int{}
	var calls []recordedCall
	for _, c := range pairs.All() {
		name := clip(c.Method)
		if c.Target != "" {
			name += fmt.Sprintf(" %q", shorten(c.Target))
		}
		if c.Dir == transport.ServerToClient {
			name = "server: " + name
		}
		seen[name]++
		calls = append(calls, recordedCall{
			name: fmt.Sprintf("%s#%d", name, seen[name]), dir: c.Dir,
			request: numbers[c.Request], response: numbers[c.Response],
			id: mcp.KeyOf([]byte(c.ID)), cancelled: c.Cancelled > 0, listen: c.Method == methodListen,
		})
	}
	return calls, nil
}

// expect adds an operation that a recorded half begins and ends itself.
func (r *Run) expect(name string) *Operation {
	r.Op(name, nil)
	op := r.ops[len(r.ops)-1]
	op.played = true
	return op
}

// begin and settle are called by the half that plays the operation.
func (r *Run) begin(op *Operation) {
	r.gate.hold()
	op.started = true
	r.gate.free()
}

func (r *Run) settle(op *Operation) {
	r.gate.hold()
	if !op.done {
		op.done = true
		r.ended++
		r.gate.poke()
	}
	r.gate.free()
}
