package gate

import (
	"slices"
	"sync"
	"testing"
)

// Goroutines that wait stand by the round in which they came, and those of one round by
// name, whichever came first: which ran first must not show in a token.
func TestPointOrder(t *testing.T) {
	g := New(Options{})
	for round, names := range [][]string{{"c", "a", "b"}, {"b", "a"}} {
		g.Round = round
		for _, name := range names {
			g.arrive(name)
		}
	}
	var got []string
	for _, p := range g.points {
		got = append(got, p.name)
	}
	if want := []string{"a#1", "b#1", "c#1", "a#2", "b#2"}; !slices.Equal(got, want) {
		t.Errorf("they stand as %v, want %v", got, want)
	}
}

// A client may ask for its HTTP at any time, also while the engine looks at what may happen: the race detector says
// nothing of it.
func TestWebAtAnyTime(t *testing.T) {
	g := New(Options{})
	var clients sync.WaitGroup
	clients.Go(func() { g.HTTP.Web(g.Pairs[0]) })
	_ = g.Steps(nil)
	_ = g.Lanes[0].Readers()
	clients.Wait()
	if g.Lanes[0].Readers() != 1 {
		t.Error("a server of HTTP does not read")
	}
}
