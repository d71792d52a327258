package match

import (
	"iter"
	"slices"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Comparer compares the messages of two recordings. Neither is played: each end made up its
// own values in each of them. One recording stands for the recorded side of a comparison,
// and the other for the live side.
type Comparer struct {
	rules  Rules        // for keys
	places Rules        // for the places of two messages that differ
	made   [3]Variables // by the direction in which they were said; they share what is known
}

// NewComparer returns a comparer that knows no variables. said yields what was said in a
// direction of the recorded session, by Seq; it is asked when values differ first, and need
// only have the messages that are not as in the other recording. Clocks are the times
// between which the two were recorded.
func NewComparer(r Rules, said func(transport.Direction) iter.Seq2[int, transport.Frame], clocks ...Clock) *Comparer {
	c := &Comparer{rules: r, places: r}
	known := NewVariables(nil)
	for _, dir := range [...]transport.Direction{transport.ClientToServer, transport.ServerToClient} {
		v := *known
		v.bothRecorded = true
		if said != nil {
			v.recurrences = &recurrence{said: said(dir.Reverse())}
		}
		c.made[dir] = v
	}
	if n, ok := clockNormalizer(clocks); ok && r.By != Strict {
		c.places.Normalize = append(slices.Clone(r.Normalize), n)
	}
	return c
}

// Learn takes in the differences of two messages of direction dir that stand for each
// other. seq is that of the recorded one. Messages are to be learned from in recorded
// order.
func (c *Comparer) Learn(dir transport.Direction, seq uint64, recorded, live transport.Message) {
	if dir != transport.NoDirection {
		c.made[dir].Learn(recorded, live, int(seq))
	}
}

// Compare compares two messages of one kind and method.
func (c *Comparer) Compare(dir transport.Direction, recorded, live transport.Message) Comparison {
	return c.comparison(comparer{rules: c.placesOf(recorded), variables: &c.made[dir]}, recorded, live)
}

// Count is Compare that lists no differences: telling them well takes long.
func (c *Comparer) Count(dir transport.Direction, recorded, live transport.Message) Comparison {
	return c.comparison(comparer{rules: c.placesOf(recorded), variables: &c.made[dir], terse: true}, recorded, live)
}

func (c *Comparer) comparison(walk comparer, recorded, live transport.Message) Comparison {
	rules := walk.rules
	walk.compareParts(recorded, live)
	if recorded.Kind() == transport.Request && !MatchedByMethod(recorded.Method) && (rules.By == ByMethod || rules.By == ByOrder) {
		return walk.AsMapped(rules.By.String())
	}
	return walk.Comparison
}

// placesOf are the rules for a message. Two recordings of one client introduce it alike.
func (c *Comparer) placesOf(m transport.Message) Rules {
	rules := c.places
	if m.Method == mcp.MethodInitialize {
		rules.By = Strict
	}
	return rules
}

// Key returns what a request has in common with those that may stand for it.
func (c *Comparer) Key(m transport.Message) (Key, error) { return c.rules.Key(m) }

// AppendShape appends all that is compared of a message, in one spelling, with a mark in
// the place of each value that looks made up: messages of one shape may differ in
// Variables alone.
func (c *Comparer) AppendShape(b []byte, m transport.Message) []byte {
	w := keyWriter{rules: c.placesOf(m), b: append(b, m.Method...), shape: true}
	for _, part := range [...]struct {
		name string
		raw  []byte
	}{{"params", m.Params}, {"result", m.Result}, {"error", m.Error}} {
		w.b = append(w.b, ' ')
		if len(part.raw) == 0 && (part.name != "params" || m.Method == "") {
			continue
		}
		n, err := parseTree(part.raw)
		switch {
		case err != nil: // too deep
			w.b = append(w.b, part.raw...)
			continue
		case part.name == "params":
			n = w.rules.paramsOf(m, n)
		default:
			n = withoutSubscription(n)
		}
		w.path = append(w.path[:0], part.name)
		w.write(n)
	}
	return w.b
}
