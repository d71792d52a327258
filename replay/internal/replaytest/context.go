package replaytest

import (
	"context"
	"errors"
	"testing"
)

// LookedAt is a context that ends when it has been looked at so many times.
type LookedAt struct {
	context.Context
	Left int // looks until the end
	Late int // looks after it
}

// Err counts a look.
func (c *LookedAt) Err() error {
	if c.Left--; c.Left >= 0 {
		return nil
	}
	c.Late++
	return context.Canceled
}

// Interrupt holds that a computation gives up wherever its context ends, with the context's error, and without
// many looks more. It returns how often the whole computation looks at its context.
func Interrupt(t *testing.T, compute func(context.Context) error) (looks int) {
	t.Helper()
	const never, places = 1 << 30, 40
	whole := &LookedAt{Context: t.Context(), Left: never}
	if err := compute(whole); err != nil {
		t.Fatal(err)
	}
	looks = never - whole.Left
	for n := 0; n < looks; n += 1 + looks/places {
		c := &LookedAt{Context: t.Context(), Left: n}
		if err := compute(c); !errors.Is(err, context.Canceled) {
			t.Fatalf("the context ends at look %d of %d: %v", n, looks, err)
		}
		if c.Late > 3 {
			t.Fatalf("the context ends at look %d of %d: it is looked at %d times more", n, looks, c.Late)
		}
	}
	return looks
}
