package state

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// SnapshotVersion changes with the form of a snapshot and with what the fold makes of
// events: a snapshot of another version is of no use.
const SnapshotVersion = 1

// AppendSnapshot appends the state as bytes from which [Restore] makes it again. A queue
// may grow with all that has passed, so of each there is only what came after an event,
// that of the snapshot before; 0 is all of it.
//
// The form: the lanes with a length before them; then numbers as varints and texts with
// their length before them, in the order of the fields here. Maps are in the order of
// their keys, calls in that of their requests.
func (s *State) AppendSnapshot(b []byte, after uint64) []byte {
	w := writer{}
	w.lanes(s.lanes, after)
	b = binary.AppendUvarint(b, uint64(len(w.b)))
	b = append(b, w.b...)
	w.b = b
	w.uint(s.seq, uint64(s.at), s.frames[0], s.frames[1], s.frames[2], s.failures, s.lost, s.greeted)
	w.text(s.revision, s.logLevel, s.exit)
	for i := range s.peers {
		p := &s.peers[i]
		w.text(p.Name, p.Version, p.info)
		w.bytes(p.Capabilities)
		w.uint(s.blocked[i].seq, uint64(s.blocked[i].blocked))
		w.text(s.ended[i])
	}
	w.flag(s.sealed)
	w.calls(s)
	w.subscriptions(s.subscriptions)
	w.tasks(s.tasks)
	w.streams(s.streams)
	return w.b
}

// Queues are the lanes of a snapshot: what a later one is restored upon.
type Queues map[lane]queue

// Add takes in the lanes of the next snapshot of a session, from its first on.
func (q Queues) Add(snapshot []byte) error {
	r := reader{b: snapshot}
	r.b = r.take(r.uint())
	seen := map[lane]bool{}
	for n := r.count(); n > 0 && !r.bad; n-- {
		l := lane{way(r.dir()), r.uint()}
		whole, fresh := r.uint(), r.count()
		old := q[l]
		if whole < uint64(fresh) || whole-uint64(fresh) > uint64(len(old)) || whole == 0 || seen[l] {
			return errSnapshot
		}
		seen[l] = true
		old = old[uint64(len(old))-(whole-uint64(fresh)):]
		last := r.uint()
		for range fresh {
			last += r.uint()
			old = append(old, last)
		}
		q[l] = old
	}
	maps.DeleteFunc(q, func(l lane, _ queue) bool { return !seen[l] })
	if r.bad || len(r.b) > 0 {
		return errSnapshot
	}
	return nil
}

// errSnapshot says that bytes are no snapshot.
var errSnapshot = errors.New("restore state: not a snapshot")

// Restore makes a state of its snapshot and of its queues, which [Queues.Add] has taken
// from it and from those before. The queues are the state's own from then on.
func Restore(snapshot []byte, queues Queues) (*State, error) {
	s := New()
	r := reader{b: snapshot}
	r.take(r.uint())
	s.seq, s.at = r.uint(), time.Duration(r.uint())
	s.frames = [3]uint64{r.uint(), r.uint(), r.uint()}
	s.failures, s.lost, s.greeted = r.uint(), r.uint(), r.uint()
	s.revision, s.logLevel, s.exit = r.text(), r.text(), r.text()
	for i := range s.peers {
		s.peers[i] = Peer{Name: r.text(), Version: r.text(), info: r.text(), Capabilities: raw(r.text())}
		s.blocked[i] = stall{r.uint(), time.Duration(r.uint())}
		s.ended[i] = r.text()
	}
	s.sealed = r.flag()
	for n := r.count(); n > 0 && !r.bad; n-- {
		s.takesUp(r.call())
	}
	r.things(s)
	s.lanes = queues
	for l, q := range queues {
		s.queued[l.dir] += len(q)
	}
	if r.bad || len(r.b) > 0 {
		return nil, errSnapshot
	}
	return s, nil
}

// takesUp puts in a call that was open, and held its token or not.
func (s *State) takesUp(x *call, holds bool) {
	k := key{x.dir, x.id}
	s.calls[k] = append(s.calls[k], x)
	if x.isAsked() {
		s.asked[x.stream] = append(s.asked[x.stream], x)
	}
	if holds {
		s.tokens[key{x.dir, x.token}] = x
	}
	switch {
	case x.method != methodListen:
		s.open++
	case x.acknowledged != 0:
		s.listening++
	}
}

// isAsked reports whether an open call is one of those that its exchange asked, which
// it is until that ends.
func (x *call) isAsked() bool { return x.stream != 0 && x.cut == 0 }

// things reads what is not a call.
func (r *reader) things(s *State) {
	for n := r.count(); n > 0 && !r.bad; n-- {
		sub := Subscription{URI: r.text(), Since: r.uint(), Notified: r.uint()}
		s.subscriptions[sub.URI] = sub
	}
	for n := r.count(); n > 0 && !r.bad; n-- {
		t := Task{ID: r.text(), Dir: r.dir(), Status: r.text(), Message: r.text(), Since: r.uint(), Told: r.uint()}
		t.By = t.Dir.Sender()
		s.tasks[key{t.Dir, t.ID}] = t
		s.statuses[t.Status]++
	}
	for n := r.count(); n > 0 && !r.bad; n-- {
		x := Stream{Number: r.uint(), Method: r.text(), Path: r.text(), Status: int(r.uint()), Since: r.uint(), C2S: r.uint(), S2C: r.uint()}
		s.streams[x.Number] = x
	}
}

// openCalls lists the calls without an answer in the order of their requests.
func (s *State) openCalls() []*call {
	var list []*call
	for _, k := range slices.SortedFunc(maps.Keys(s.calls), compareKeys) {
		for _, x := range s.calls[k] {
			if !x.closed {
				list = append(list, x)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *call) int { return cmp.Compare(a.seq, b.seq) })
	return list
}

func compareKeys(a, b key) int { return cmp.Or(cmp.Compare(a.dir, b.dir), cmp.Compare(a.id, b.id)) }

func (w *writer) calls(s *State) {
	list := s.openCalls()
	w.uint(uint64(len(list)))
	for _, x := range list {
		w.b = append(w.b, byte(x.dir))
		w.text(x.id, x.raw, x.method, x.target, x.token, x.rawToken, x.version, x.progress, x.total, x.message, x.filter)
		w.uint(x.stream, x.seq, uint64(x.at), x.reports, x.cancelled, x.cut, x.acknowledged, x.notified)
		w.flag(x.token != "" && s.tokens[key{x.dir, x.token}] == x)
	}
}

func (r *reader) call() (x *call, holds bool) {
	x = &call{
		dir: r.dir(), id: r.text(), raw: r.text(), method: r.text(), target: r.text(), token: r.text(), rawToken: r.text(),
		version: r.text(), progress: r.text(), total: r.text(), message: r.text(), filter: r.text(),
		stream: r.uint(), seq: r.uint(), at: time.Duration(r.uint()), reports: r.uint(), cancelled: r.uint(), cut: r.uint(),
		acknowledged: r.uint(), notified: r.uint(),
	}
	return x, r.flag()
}

func (w *writer) lanes(lanes map[lane]queue, after uint64) {
	keys := slices.SortedFunc(maps.Keys(lanes), func(a, b lane) int {
		return cmp.Or(cmp.Compare(a.stream, b.stream), cmp.Compare(a.dir, b.dir))
	})
	w.uint(uint64(len(keys)))
	for _, l := range keys {
		q := lanes[l]
		fresh, _ := slices.BinarySearch(q, after+1)
		w.b = append(w.b, byte(l.dir))
		w.uint(l.stream, uint64(len(q)), uint64(len(q)-fresh), after)
		last := after
		for _, seq := range q[fresh:] {
			w.uint(seq - last)
			last = seq
		}
	}
}

func (w *writer) subscriptions(m map[string]Subscription) {
	w.uint(uint64(len(m)))
	for _, uri := range slices.Sorted(maps.Keys(m)) {
		w.text(uri)
		w.uint(m[uri].Since, m[uri].Notified)
	}
}

func (w *writer) tasks(m map[key]Task) {
	w.uint(uint64(len(m)))
	for _, k := range slices.SortedFunc(maps.Keys(m), compareKeys) {
		t := m[k]
		w.text(t.ID)
		w.b = append(w.b, byte(t.Dir))
		w.text(t.Status, t.Message)
		w.uint(t.Since, t.Told)
	}
}

func (w *writer) streams(m map[uint64]Stream) {
	w.uint(uint64(len(m)))
	for _, n := range slices.Sorted(maps.Keys(m)) {
		x := m[n]
		w.uint(n)
		w.text(x.Method, x.Path)
		w.uint(uint64(x.Status), x.Since, x.C2S, x.S2C)
	}
}

// writer appends numbers and texts.
type writer struct{ b []byte }

func (w *writer) uint(numbers ...uint64) {
	for _, n := range numbers {
		w.b = binary.AppendUvarint(w.b, n)
	}
}

func (w *writer) text(texts ...string) {
	for _, t := range texts {
		w.b = append(binary.AppendUvarint(w.b, uint64(len(t))), t...)
	}
}

func (w *writer) bytes(t json.RawMessage) { w.text(string(t)) }

func (w *writer) flag(set bool) {
	if set {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

// reader reads them again. After something that is not there it is bad, and all is 0.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) text() string { return string(r.take(r.uint())) }

func (r *reader) flag() bool {
	b := r.take(1)
	return len(b) == 1 && b[0] == 1
}

func (r *reader) dir() transport.Direction {
	if b := r.take(1); len(b) == 1 {
		return transport.Direction(b[0])
	}
	return 0
}

// count reads how many of something follow, each a byte at least.
func (r *reader) count() int {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return 0
	}
	return int(n)
}
