package replay

import (
	"iter"

	"github.com/mcprec/mcprec/store"
)

// Projection is a read model folded from a session's events. It can be thrown
// away and rebuilt at any time.
type Projection interface {
	// Apply takes the next event, in Seq order. An error ends the fold.
	Apply(store.Event) error
}

// Project feeds the events to every projection, in one pass. It stops at the
// first error, of the sequence or of a projection.
func Project(seq iter.Seq2[store.Event, error], ps ...Projection) error {
	for e, err := range seq {
		if err != nil {
			return err
		}
		for _, p := range ps {
			if err := p.Apply(e); err != nil {
				return err
			}
		}
	}
	return nil
}
