package session

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mcprec/mcprec/store"
)

// TestStepsAhead: the events come in their order, with an error at its place, and the
// log is left when its reader has had enough.
func TestStepsAhead(t *testing.T) {
	broken := errors.New("broken")
	const events = 5 * batchEvents
	for _, enough := range []int{1, batchEvents, 3*batchEvents + 1, events + 1} {
		left := false
		log := func(yield func(store.Event, error) bool) {
			defer func() { left = true }()
			for n := range events {
				if !yield(store.Event{Seq: uint64(n), Kind: store.Frame, Payload: fmt.Appendf(nil, `{"id":%d,"result":{}}`, n)}, nil) {
					return
				}
			}
			yield(store.Event{}, broken)
		}
		n := 0
		for e, err := range Steps(log, nil) {
			if n == events && err != broken || n < events && (err != nil || e.Seq != uint64(n) || string(e.Messages[0].ID) != fmt.Sprint(n)) {
				t.Fatalf("event %d: %+v, %v", n, e, err)
			}
			if n++; n == enough {
				break
			}
		}
		if n != enough || !left {
			t.Errorf("got %d of %d events, the log is left: %t", n, enough, left)
		}
	}
}
