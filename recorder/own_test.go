package recorder

import (
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// A session that rests holds nothing of what passed: there may be hundreds, and a request
// for each may be long. A write that somebody could leave holds who goes on, and he all.
func TestRestHoldsNothing(t *testing.T) {
	d := &disk{}
	r, err := New(t.Context(), d, store.Header{})
	if err != nil {
		t.Fatal(err)
	}
	tap := r.Tap(transport.ClientToServer)
	here := func() {
		chunk := []byte("{}\n")
		r.turn.take()
		tap.begin(chunk, nil)
		if mine, err := r.commitHere(func() { t.Error("left behind") }); mine {
			tap.written(chunk, 1, err)
		}
		r.turn.give()
	}
	for what, write := range map[string]func(){
		"by another goroutine": func() { tap.Observe([]byte("{}\n")) },
		"in this one":          here,
		"in vain":              func() { d.full.Store(true); tap.Observe([]byte("{}\n")) },
	} {
		write()
		d.full.Store(false)
		if r.parts != nil || r.own != nil || r.back.parts != nil || r.back.goOn != nil {
			t.Errorf("a write %s leaves something", what)
		}
	}
	r.Close()
}
