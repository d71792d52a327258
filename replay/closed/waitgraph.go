package closed

import (
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// waitGraph is a cycle of waits, or a chain of waits for a frame that never comes, with the
// nodes that are blocked behind.
type waitGraph struct {
	nodes  []node // the cycle, or the whole chain
	closed bool   // a cycle
	others []node // further blocked nodes
}

// waitGraph follows the waits. Every node waits for one other, so the way from any blocked
// node leads into a cycle or to a node that waits for a missing frame.
func (s blockedState) waitGraph() waitGraph {
	var found waitGraph
	for _, start := range s.starts() {
		nodes, closed := s.follow(start)
		if closed && !found.closed || closed == found.closed && !closed && len(nodes) > len(found.nodes) {
			found = waitGraph{nodes: nodes, closed: closed}
		}
	}
	for _, n := range s.starts() {
		if n.role != roleCall && !slices.Contains(found.nodes, n) {
			found.others = append(found.others, n)
		}
	}
	return found
}

// starts returns the blocked nodes: callers of a client with a notification queue first.
func (s blockedState) starts() []node {
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

// follow walks from a blocked node and returns the cycle at the end of the way, from a call
// on if the cycle has one, or else the whole way.
func (s blockedState) follow(n node) (nodes []node, closed bool) {
	for {
		if i := slices.Index(nodes, n); i >= 0 {
			cycle := nodes[i:]
			if call := slices.IndexFunc(cycle, func(node node) bool { return node.role == roleCall }); call > 0 {
				cycle = slices.Concat(cycle[call:], cycle[:call])
			}
			return cycle, true
		}
		nodes = append(nodes, n)
		_, next, ok := s.wait(n)
		if !ok {
			return nodes, false
		}
		n = next
	}
}

// category names the kind of a hang.
func (s blockedState) category(k waitGraph) string {
	var count [roleAnswer + 1]int
	for _, n := range k.nodes {
		count[n.role]++
	}
	switch {
	case !k.closed:
		return NeverSent
	case count[roleQueue] > 0:
		return BehindNotification
	case count[roleCall] > 1: // an end has one at most
		return MutualWait
	case count[roleCall] > 0, count[roleAnswer] > 0:
		return s.behind(k)
	}
	return BothWrite
}

// behind names the kind of the message at which a reader of the graph works.
func (s blockedState) behind(k waitGraph) string {
	for _, n := range k.nodes {
		if stop := s.ends[n.own].stopped(); stop != nil {
			return Behind(s.recording.messages[stop.held].kind)
		}
	}
	return BothWrite
}

// Wait is a blocked part at the end of a replay, and the part that it waits for. Equal parts
// have equal names in Who and WaitsFor, so a list of waits is a graph.
type Wait struct {
	Who      string `json:"who"`
	WaitsFor string `json:"waits_for"`
	Holds    string `json:"holds,omitempty"` // the frame in hand
	Why      string `json:"why"`
	Seq      uint64 `json:"seq,omitempty"` // of the frame in Why

	// End and Role name the part in Who for a program: the end, and "writer", "reader",
	// "thread", "queue", "call" or "answer". An awaited answer belongs to the end that owes
	// it.
	End  string `json:"-"`
	Role string `json:"-"`
	// Dir and N name the frame in hand; N is 0 for none.
	Dir transport.Direction `json:"-"`
	N   int                 `json:"-"`
}

// role is a part of an end, or of a report, that can wait.
type role uint8

const (
	roleWriter role = iota + 1
	roleReader
	roleThread // single-threaded: writer and reader in one
	roleQueue  // notification queue: the inner queue
	roleCall   // notification queue: its caller would drain the queue; blocking: the handler's call
	roleAnswer // the awaited response or other frame
)

// node is a role of the end that sends in direction own.
type node struct {
	role role
	own  transport.Direction
}

// blockedState is a closed replay without a possible step.
type blockedState struct {
	*closedRun
}

func (s blockedState) name(node node) string {
	who := node.own.Sender()
	switch node.role {
	case roleWriter:
		return who + " writer"
	case roleReader:
		return who + " reader"
	case roleThread:
		return who + " thread"
	case roleQueue:
		return "notification queue (" + who + ")"
	}
	stop := s.ends[node.own].stopped()
	if node.role == roleCall {
		return s.recording.callName(stop.call)
	}
	if m := s.recording.messages[stop.awaited]; m.kind != transport.Response {
		return fmt.Sprintf("#%d %s", s.recording.frameOf(stop.awaited).seq, m.name())
	}
	return fmt.Sprintf("response #%d", s.recording.frameOf(stop.awaited).seq)
}

func (s blockedState) reader(own transport.Direction) node {
	if s.ends[own].model.kind == singleThreaded {
		return node{roleThread, own}
	}
	return node{roleReader, own}
}

func (s blockedState) writer(own transport.Direction) node {
	if s.ends[own].model.kind == singleThreaded {
		return node{roleThread, own}
	}
	return node{roleWriter, own}
}

// finished reports whether a writer, reader or thread has nothing left to do.
func (s blockedState) finished(node node) bool {
	e := s.ends[node.own]
	return (node.role == roleReader || e.sent()) && (node.role == roleWriter || e.read())
}

// wait describes the wait of an unfinished node, and returns the node that could end the
// wait; false if there is none.
func (s blockedState) wait(n node) (w Wait, next node, ok bool) {
	e := s.ends[n.own]
	switch {
	case n.role == roleQueue:
		w.Why = fmt.Sprintf("full, with room for %d: nobody reads from it while a call of the %s is open", e.model.queue, n.own.Sender())
		next = node{roleCall, n.own}
		ok = true
	case n.role == roleCall:
		w, next, ok = s.callWait(n)
	case n.role == roleAnswer:
		w, next, ok = s.answerWait(n)
	case n.role == roleWriter, n.role == roleThread && e.sending():
		w, next, ok = s.writerWait(n)
	default:
		w, next, ok = s.readerWait(n)
	}
	w.Who = s.name(n)
	w.End = n.own.Sender()
	w.Role = roleNames[n.role]
	if n.role == roleAnswer {
		w.End = n.own.Receiver()
	}
	if f := s.held(n); f >= 0 {
		w.Dir = s.recording.frames[f].dir
		w.N = int(s.recording.frames[f].n)
	}
	if ok && w.WaitsFor == "" {
		w.WaitsFor = s.name(next)
	}
	return w, next, ok
}

func (s blockedState) writerWait(node node) (Wait, node, bool) {
	e := s.ends[node.own]
	if !e.sending() { // a frame that must be read first was not read
		f := s.recording.frames[s.recording.nth(node.own, int(e.offered)+1)]
		cause := s.recording.nth(node.own.Reverse(), int(e.need[e.offered]))
		why := fmt.Sprintf("sends #%d after %s was read", f.seq, s.recording.label(cause))
		return Wait{Why: why, Seq: f.seq}, s.reader(node.own), true
	}
	f := s.recording.nth(node.own, int(e.offered))
	w := Wait{Holds: s.recording.label(f), Seq: s.recording.frames[f].seq}
	w.Why = fmt.Sprintf("%v is full (buffer %v)", node.own, s.capacity.of(node.own))
	if s.capacity.of(node.own) == 0 {
		w.Why = fmt.Sprintf("with buffer 0 a write ends when the %s reads", node.own.Receiver())
	}
	return w, s.reader(node.own.Reverse()), true
}

func (s blockedState) readerWait(n node) (Wait, node, bool) {
	e := s.ends[n.own]
	from := n.own.Reverse()
	if e.model.kind == blockingHandlers && !e.reading() {
		return s.workWait(n)
	}
	if stop := e.stopped(); stop != nil {
		held := s.recording.messages[stop.held]
		w := Wait{Holds: s.recording.label(held.frame), Seq: s.recording.frameOf(stop.held).seq, Why: "hands it to the queue and has not read since"}
		return w, node{roleQueue, n.own}, true
	}
	if e.reading() {
		next := s.recording.nth(from, int(e.given)+1)
		w := Wait{Why: "reads; the next is " + s.recording.label(next), Seq: s.recording.frames[next].seq}
		return w, s.writer(from), true
	}
	read := s.recording.nth(from, int(e.given))
	own := s.recording.nth(n.own, int(e.hold[e.given]))
	w := Wait{Holds: s.recording.label(read), Seq: s.recording.frames[own].seq}
	w.Why = fmt.Sprintf("answers with #%d before it reads on", w.Seq)
	return w, s.writer(n.own), true
}

func (s blockedState) callWait(n node) (Wait, node, bool) {
	stop := s.ends[n.own].stopped()
	sent := s.recording.frameOf(stop.call).seq
	why := fmt.Sprintf("sent as #%d", sent)
	switch {
	case stop.releasedBy != forever:
		cancel := s.recording.nth(n.own, int(stop.releasedBy))
		why += ", given up with " + s.recording.label(cancel)
		return Wait{Why: why, Seq: sent}, s.writer(n.own), true
	case stop.awaited < 0 && s.ends[n.own].model.kind == blockingHandlers:
		return s.askedWait(n)
	case stop.awaited < 0:
		return Wait{WaitsFor: "a response", Why: why + "; the recording has no response to it", Seq: sent}, node{}, false
	}
	return Wait{Why: why, Seq: sent}, node{roleAnswer, n.own}, true
}

// answerWait describes the place of the awaited response. Wherever the response stands in
// its lane, the reader at the end of the lane holds the response up.
func (s blockedState) answerWait(node node) (Wait, node, bool) {
	stop := s.ends[node.own].stopped()
	from := node.own.Reverse()
	f := s.recording.frameOf(stop.awaited)
	w := Wait{Seq: f.seq}
	peer := s.ends[from]
	switch {
	case stop.inside:
		w.Why = "in what the reader holds, behind the notification"
	case f.n <= peer.acked:
		w.Why = fmt.Sprintf("queued in %v", from)
	case f.n <= peer.offered:
		w.Why = fmt.Sprintf("the %s is blocked writing it", from.Sender())
	case peer.sending():
		inHand := s.recording.frames[s.recording.nth(from, int(peer.offered))]
		w.Why = fmt.Sprintf("not sent yet: the %s is blocked writing #%d", from.Sender(), inHand.seq)
	default:
		w.Why = "not sent yet"
		return w, s.writer(from), true
	}
	return w, s.reader(node.own), true
}

// workWait describes the wait of a blocking reader that does not read.
func (s blockedState) workWait(n node) (Wait, node, bool) {
	e := s.ends[n.own]
	stop := e.stopped()
	if stop == nil { // a frame of the work was not taken
		held := s.recording.nth(n.own.Reverse(), int(e.given))
		w := Wait{Holds: s.recording.label(held), Seq: s.recording.frames[held].seq, Why: "works at it, and reads on when that is done"}
		return w, s.writer(n.own), true
	}
	held := s.recording.messages[stop.held]
	w := Wait{Holds: s.recording.label(held.frame), Seq: s.recording.frameOf(stop.held).seq, Why: "runs its handler to the end before it reads on"}
	switch {
	case stop.call >= 0:
		return w, node{roleCall, n.own}, true
	case stop.awaited >= 0:
		w.Why = "works at it until it is cancelled, and does not read meanwhile"
		return w, node{roleAnswer, n.own}, true
	}
	w.WaitsFor = "its own answer"
	w.Why = "works at it, and reads on when it was answered; the recording has no response to it"
	return w, node{}, false
}

// askedWait describes the wait for a handler's call without a response in the recording. The
// state of the peer may show the reason.
func (s blockedState) askedWait(n node) (Wait, node, bool) {
	call := s.ends[n.own].stopped().call
	f := s.recording.frameOf(call)
	peer := s.ends[n.own.Reverse()]
	w := Wait{Why: fmt.Sprintf("sent as #%d", f.seq), Seq: f.seq}
	switch {
	case peer.model.kind == blockingHandlers && f.n > peer.given:
		w.Why += fmt.Sprintf("; the %s has not read it", n.own.Receiver())
	case peer.stopped() != nil && peer.model.kind == blockingHandlers && f.n == peer.given:
		w.Why += fmt.Sprintf("; the %s is at it", n.own.Receiver())
	default:
		w.WaitsFor = "a response"
		w.Why = w.Why + "; the recording has no response to it"
		return w, node{}, false
	}
	return w, s.reader(n.own.Reverse()), true
}

// held returns the frame in a node's hand, or -1.
func (s blockedState) held(node node) int32 {
	e := s.ends[node.own]
	writes := node.role == roleWriter || node.role == roleThread
	switch {
	case writes && e.sending():
		return s.recording.nth(node.own, int(e.offered))
	case node.role == roleReader && e.stopped() != nil:
		return s.recording.messages[e.stopped().held].frame
	case node.role == roleReader && !e.reading() && e.given > 0:
		return s.recording.nth(node.own.Reverse(), int(e.given))
	}
	return -1
}
