package replay

import "slices"

// knot is the answer to who waits for whom: a cycle, or a chain to something
// that never comes; and who else is blocked because of it.
type knot struct {
	nodes  []node // the cycle, or the whole chain
	closed bool   // a cycle
	others []node // further blocked nodes
}

// knot follows the waits. Every node waits for one other, so following them from
// any blocked node leads into a cycle or to a node that waits for nothing there is.
func (s stand) knot() knot {
	var found knot
	for _, start := range s.starts() {
		nodes, closed := s.follow(start)
		if closed && !found.closed || closed == found.closed && !closed && len(nodes) > len(found.nodes) {
			found = knot{nodes: nodes, closed: closed}
		}
	}
	for _, n := range s.starts() {
		if n.role != roleCall && !slices.Contains(found.nodes, n) {
			found.others = append(found.others, n)
		}
	}
	return found
}

// starts returns the blocked nodes: callers of a swallowing client first.
func (s stand) starts() []node {
	var calls, blocked []node
	for _, dir := range directions {
		if stop := s.ends[dir].stopped(); stop != nil && stop.call >= 0 && !s.finished(node{roleReader, dir}) {
			calls = append(calls, node{roleCall, dir})
		}
		for _, n := range slices.Compact([]node{s.writer(dir), s.reader(dir)}) {
			if !s.finished(n) {
				blocked = append(blocked, n)
			}
		}
	}
	return append(calls, blocked...)
}

// follow walks from a blocked node and returns the cycle it comes to, or the
// whole walk when that ends.
func (s stand) follow(n node) (nodes []node, closed bool) {
	for {
		if i := slices.Index(nodes, n); i >= 0 {
			return fromCall(nodes[i:]), true
		}
		nodes = append(nodes, n)
		_, next, ok := s.wait(n)
		if !ok {
			return nodes, false
		}
		n = next
	}
}

// fromCall turns a cycle so that it begins with a call, if it has one.
func fromCall(cycle []node) []node {
	i := slices.IndexFunc(cycle, func(n node) bool { return n.role == roleCall })
	if i <= 0 {
		return cycle
	}
	return slices.Concat(cycle[i:], cycle[:i])
}

func (k knot) has(r role) bool {
	return slices.ContainsFunc(k.nodes, func(n node) bool { return n.role == r })
}

// calls counts the calls that wait in the knot, one of an end at most.
func (k knot) calls() int {
	n := 0
	for _, node := range k.nodes {
		if node.role == roleCall {
			n++
		}
	}
	return n
}

// Category names of DESIGN: what a closed replay can hang on.
const (
	HeadOn    = "head-on"     // both ends send, both lanes are full
	Swallowed = "swallowed"   // a reader took a frame and has not come back; the awaited one is behind it
	Mutual    = "mutual call" // each end works at a request and has asked the other meanwhile
	NeverSent = "never sent"  // what is awaited is not in the recording
)

func (k knot) category() string {
	switch {
	case !k.closed:
		return NeverSent
	case k.has(roleQueue):
		return Swallowed
	case k.calls() > 1:
		return Mutual
	case k.has(roleCall), k.has(roleAnswer):
		return Swallowed
	}
	return HeadOn
}
