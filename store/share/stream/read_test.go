package stream

import (
	"errors"
	"testing"

	"github.com/mcprec/mcprec/store"
)

// TestParts holds that the parts of a chunk are put together up to what an append may have written, however many there
// are said to be.
func TestParts(t *testing.T) {
	const most = maxBatch * maxMessage
	r := &reader{from: 1, part: 7, parts: make([]byte, most-mostInbound, most+mostInbound)}
	next := place{first: 1, part: 8, parts: 1 << 20, data: make([]byte, mostInbound)}
	if err := r.take(t.Context(), next); err != nil || len(r.parts) != most {
		t.Fatalf("%d bytes are held: %v", len(r.parts), err)
	}
	next.part++
	next.data = next.data[:1]
	if err := r.take(t.Context(), next); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("%d bytes are held: %v", len(r.parts), err)
	}
}
