package picture

import (
	"time"

	"github.com/mcprec/mcprec/transport"
)

// Overview sums up a session in buckets with about the same number of events.
type Overview struct {
	Events  uint64          `json:"events"`
	Buckets int             `json:"buckets"`
	C2S     []int           `json:"c2s"` // frames of the client
	S2C     []int           `json:"s2c"` // frames of the server
	Fault   []int           `json:"fault"`
	Finding []int           `json:"finding"` // events that are marked
	Gap     []time.Duration `json:"gap"`     // the longest pause before an event of the bucket, to 0.4 %
}

// Overview returns the overview in that number of buckets, or in one bucket an event if there
// are fewer events. Bucket b has the events after b·events/buckets, up to (b+1)·events/buckets.
func (x *Index) Overview(buckets int) Overview {
	events := len(x.flags)
	buckets = max(0, min(buckets, events))
	o := Overview{
		Events: uint64(events), Buckets: buckets, C2S: make([]int, buckets), S2C: make([]int, buckets),
		Fault: make([]int, buckets), Finding: make([]int, buckets), Gap: make([]time.Duration, buckets),
	}
	for b := range buckets {
		from := b * events / buckets
		to := (b + 1) * events / buckets
		longest := uint16(0)
		for i, flags := range x.flags[from:to] {
			longest = max(longest, x.pauses[from+i])
			if flags&flagFrame != 0 {
				switch transport.Direction(flags & dirMask) {
				case transport.ClientToServer:
					o.C2S[b]++
				case transport.ServerToClient:
					o.S2C[b]++
				}
			}
			if flags&flagFault != 0 {
				o.Fault[b]++
			}
			if flags&flagFinding != 0 {
				o.Finding[b]++
			}
		}
		o.Gap[b] = unpackPause(longest) // greater pauses have greater packed forms
	}
	return o
}
