package shrink

import (
	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
)

// Closed returns the Try of a closed replay: both ends as endpoint models. A
// session that it cannot load fails in no way.
func Closed(client, server replay.Model) Try {
	return func(c Candidate) Outcome {
		r, err := replay.Load(func(yield func(store.Event, error) bool) {
			for _, e := range c.Events {
				if !yield(e, nil) {
					return
				}
			}
		})
		if err != nil {
			return Outcome{}
		}
		o := replay.Judge(r, replay.Setup{Capacity: c.Capacity, Client: client, Server: server})
		if o.Verdict == replay.Pass {
			return Outcome{}
		}
		return Outcome{
			Fingerprint: o.Verdict + " " + o.Category + ": " + o.Shape,
			C2S:         o.C2S, S2C: o.S2C, Involved: o.Involved,
		}
	}
}
