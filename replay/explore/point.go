package explore

import (
	"cmp"
	"context"
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// point is a goroutine that waits in [Point].
type point struct {
	name    string
	round   int
	reached chan struct{}
}

// gateKey finds the gate in the contexts of a run.
type gateKey struct{}

// Point is a scheduling point: code under test that calls it there waits until
// the engine chooses the step "reach NAME", so that what a peer computes between
// two frames takes part in the order too. The name gets the operation that the
// context comes from and an occurrence number, as frames do.
//
// The context must come from [Run.Context] or from that of an operation. Under
// any other Point returns at once, so that it may stay in the code. It also
// returns when the context ends.
func Point(ctx context.Context, name string) {
	g, ok := ctx.Value(gateKey{}).(*gate)
	if !ok || ctx.Err() != nil {
		return
	}
	g.hold()
	if g.shut {
		g.free()
		return
	}
	p := g.arrive(by(clip(name), operationOf(ctx)))
	g.free()
	select {
	case <-p.reached:
	case <-ctx.Done():
		g.hold()
		g.points = slices.DeleteFunc(g.points, func(q *point) bool { return q == p })
		g.free()
	}
}

// arrive parks a goroutine; those of one round stand in the order of their names.
func (g *gate) arrive(name string) *point {
	p := &point{name: g.names.count(transport.NoDirection, name), round: g.round, reached: make(chan struct{})}
	at, _ := slices.BinarySearchFunc(g.points, p, func(a, b *point) int {
		return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.name, b.name))
	})
	g.points = slices.Insert(g.points, at, p)
	g.poke()
	return p
}

// reach lets a goroutine go on.
func (g *gate) reach(p *point) {
	g.points = slices.DeleteFunc(g.points, func(q *point) bool { return q == p })
	close(p.reached)
}
