package match

import (
	"iter"
	"slices"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Comparer compares the messages of two recordings. Neither is played: in each, both ends made
// up values of their own. The first is the recorded side of a comparison, the second the live
// side.
type Comparer struct {
	rules  Rules        // for keys
	places Rules        // for the places of two messages that differ
	made   [3]Variables // by the direction in which they were said; they share what is known
}

// NewComparer returns a comparer that knows no variables. said yields the recorded frames of a
// direction by Seq; it is called when values first differ, and may leave out frames that are
// equal in both recordings. Clocks are the times of the two recordings.
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

// Learn learns variables from two messages of direction dir that stand for each other. seq is
// the recorded message's. The calls must come in recorded order.
func (c *Comparer) Learn(dir transport.Direction, seq uint64, recorded, live transport.Message) {
	if dir != transport.NoDirection {
		c.made[dir].Learn(recorded, live, int(seq))
	}
}

// Compare compares two messages of one kind and method.
func (c *Comparer) Compare(dir transport.Direction, recorded, live transport.Message) Comparison {
	return c.comparison(comparer{rules: c.placesOf(recorded), variables: &c.made[dir]}, recorded, live)
}

// Count is Compare without the list of differences, which is slow to write well.
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

// placesOf returns the rules for a message. Two recordings of a client introduce it alike.
func (c *Comparer) placesOf(m transport.Message) Rules {
	rules := c.places
	if m.Method == mcp.MethodInitialize {
		rules.By = Strict
	}
	return rules
}

// Key returns the Key that a request shares with the requests that may stand for it.
func (c *Comparer) Key(m transport.Message) (Key, error) { return c.rules.Key(m) }

// AppendShape appends the compared parts of a message, in a canonical spelling, with a mark in
// the place of each made-up value: messages of the same shape differ at most in Variables.
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
