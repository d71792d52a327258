package gate

import (
	"cmp"
	"context"
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// point is a goroutine in Point.
type point struct {
	name    string
	round   int
	reached chan struct{}
}

type (
	gateKey      struct{}
	operationKey struct{}
)

// Context returns a context in which [Point] finds the gate.
func (g *Gate) Context(parent context.Context) context.Context {
	return context.WithValue(parent, gateKey{}, g)
}

// operation is the operation of a context.
type operation struct {
	name    string
	offered func() // of a recorded half; nil otherwise
}

// WithOperation returns a context under which frames and points carry an operation's name.
func WithOperation(parent context.Context, name string) context.Context {
	return context.WithValue(parent, operationKey{}, operation{name: name})
}

// WithPlayed is WithOperation for the requests of a recorded half: the operation does not show in
// the names of the frames. offered is called when a request is in its writer's hand.
func WithPlayed(parent context.Context, name string, offered func()) context.Context {
	return context.WithValue(parent, operationKey{}, operation{name, offered})
}

// OperationOf returns the operation that a context comes from, or "".
func OperationOf(ctx context.Context) string {
	op, _ := ctx.Value(operationKey{}).(operation)
	return op.name
}

// offeredOf returns the function of [WithPlayed], or nil.
func offeredOf(ctx context.Context) func() {
	op, _ := ctx.Value(operationKey{}).(operation)
	return op.offered
}

// Point waits until its step is released or the context ends; see package explore. Without
// a gate in the context it returns at once.
func Point(ctx context.Context, name string) {
	g, ok := ctx.Value(gateKey{}).(*Gate)
	if !ok || ctx.Err() != nil {
		return
	}
	g.Lock()
	if g.shut {
		g.Unlock()
		return
	}
	p := g.arrive(by(Clip(name), OperationOf(ctx)))
	g.Unlock()
	select {
	case <-p.reached:
	case <-ctx.Done():
		g.Lock()
		g.points = slices.DeleteFunc(g.points, func(point *point) bool { return point == p })
		g.Poke()
		g.Unlock()
	}
}

// arrive parks a goroutine under a name and its occurrence number.
func (g *Gate) arrive(name string) *point {
	g.Points++
	return g.park(g.Names.count(transport.NoDirection, name))
}

// park parks a goroutine. Goroutines of the same round stand in the order of their names.
func (g *Gate) park(name string) *point {
	p := &point{name: name, round: g.Round, reached: make(chan struct{})}
	at, _ := slices.BinarySearchFunc(g.points, p, func(a, b *point) int {
		return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.name, b.name))
	})
	g.points = slices.Insert(g.points, at, p)
	g.Poke()
	return p
}

// reach lets a goroutine go on.
func (g *Gate) reach(p *point) {
	g.points = slices.DeleteFunc(g.points, func(point *point) bool { return point == p })
	close(p.reached)
}
