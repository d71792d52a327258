package state

import (
	"cmp"
	"slices"
)

// Change is a fact that differs between two points of a session.
type Change struct {
	Topic  string `json:"topic"`
	Before string `json:"before,omitempty"` // "": it did not hold
	After  string `json:"after,omitempty"`  // "": it no longer holds
}

// Diff lists what holds otherwise, by topic: first what changed, then what is new.
func Diff(before, after View) []Change {
	type name struct{ topic, key string }
	now := map[name]Fact{}
	later := after.Facts()
	for _, f := range later {
		now[name{f.Topic, f.Key}] = f
	}
	changes := []Change{}
	was := map[name]bool{}
	for _, f := range before.Facts() {
		n := name{f.Topic, f.Key}
		was[n] = true
		if g := now[n]; g.Text != f.Text {
			changes = append(changes, Change{f.Topic, f.Text, g.Text})
		}
	}
	for _, f := range later {
		if !was[name{f.Topic, f.Key}] {
			changes = append(changes, Change{Topic: f.Topic, After: f.Text})
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Compare(slices.Index(topics, a.Topic), slices.Index(topics, b.Topic))
	})
	return changes
}
