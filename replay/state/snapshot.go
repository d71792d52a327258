package state

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/varint"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// SnapshotVersion changes with the form of a snapshot and with what the fold makes of
// events: a snapshot of another version is of no use.
const SnapshotVersion = 2

// AppendSnapshot appends the state as bytes from which [Restore] makes it again. A queue
// may grow with all that has passed, so of each there is only what came after an event,
// that of the snapshot before; 0 is all of it.
//
// The form: the lanes with a length before them; then numbers as varints and texts with
// their length before them, in the order of the fields here. Maps are in the order of
// their keys, calls in that of their requests.
func (s *State) AppendSnapshot(b []byte, after uint64) []byte {
	w := writer{}
	lanes := slices.SortedFunc(maps.Keys(s.lanes), func(a, b lane) int {
		return cmp.Or(cmp.Compare(a.stream, b.stream), cmp.Compare(a.dir, b.dir))
	})
	w.uint(uint64(len(lanes)))
	for _, l := range lanes {
		q := s.lanes[l]
		fresh, _ := slices.BinarySearch(q, after+1)
		w.b = append(w.b, byte(l.dir))
		w.uint(l.stream, uint64(len(q)), uint64(len(q)-fresh), after)
		last := after
		for _, seq := range q[fresh:] {
			w.uint(seq - last)
			last = seq
		}
	}
	w.b = varint.AppendText(b, string(w.b))
	w.uint(s.seq, uint64(s.at), s.frames[0], s.frames[1], s.frames[2], s.failures, s.lost, s.greeted)
	w.text(s.revision, s.logLevel, s.exit)
	for i := range s.peers {
		p := &s.peers[i]
		w.text(p.Name, p.Version, p.info, string(p.Capabilities))
		w.uint(s.blocked[i].seq, uint64(s.blocked[i].blocked))
		w.text(s.ended[i])
	}
	w.flag(s.sealed)
	calls := s.openCalls()
	w.uint(uint64(len(calls)))
	for _, x := range calls {
		w.b = append(w.b, byte(x.dir))
		w.text(x.id, x.raw, x.method, x.target, x.token, x.rawToken, x.version, x.progress, x.total, x.message, x.filter)
		w.uint(x.stream, x.seq, uint64(x.at), x.reports, x.cancelled, x.cut, x.acknowledged, x.notified)
		w.flag(x.token != "" && s.tokens[key{x.dir, x.token}] == x)
	}
	w.uint(uint64(len(s.subscriptions)))
	for _, uri := range slices.Sorted(maps.Keys(s.subscriptions)) {
		w.text(uri)
		w.uint(s.subscriptions[uri].Since, s.subscriptions[uri].Notified)
	}
	w.uint(uint64(len(s.tasks)))
	for _, k := range slices.SortedFunc(maps.Keys(s.tasks), compareKeys) {
		t := s.tasks[k]
		w.text(t.ID)
		w.b = append(w.b, byte(t.Dir))
		w.text(t.Status, t.Message)
		w.uint(t.Since, t.Told)
	}
	w.uint(uint64(len(s.streams)))
	for _, n := range slices.Sorted(maps.Keys(s.streams)) {
		x := s.streams[n]
		w.uint(n)
		w.text(x.Method, x.Path)
		w.uint(uint64(x.Status), x.Since, x.C2S, x.S2C)
	}
	return w.b
}

// Queues are the lanes of a snapshot: what a later one is restored upon.
type Queues map[lane][]uint64

// Add takes in the lanes of the next snapshot of a session, from its first on.
func (q Queues) Add(snapshot []byte) error {
	all := varint.NewReader(snapshot)
	r := reader{varint.NewReader(all.Take(all.Uint()))}
	seen := map[lane]bool{}
	for n := r.Count(); n > 0 && !r.Bad(); n-- {
		l := lane{way(r.dir()), r.Uint()}
		whole, fresh := r.Uint(), r.Count()
		old := q[l]
		if whole < uint64(fresh) || whole-uint64(fresh) > uint64(len(old)) || whole == 0 || seen[l] {
			return errSnapshot
		}
		seen[l] = true
		old = old[uint64(len(old))-(whole-uint64(fresh)):]
		last := r.Uint()
		for range fresh {
			last += r.Uint()
			old = append(old, last)
		}
		q[l] = old
	}
	maps.DeleteFunc(q, func(l lane, _ []uint64) bool { return !seen[l] })
	if !r.Whole() {
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
	r := reader{varint.NewReader(snapshot)}
	r.Take(r.Uint())
	s.seq, s.at = r.Uint(), time.Duration(r.Uint())
	s.frames = [3]uint64{r.Uint(), r.Uint(), r.Uint()}
	s.failures, s.lost, s.greeted = r.Uint(), r.Uint(), r.Uint()
	s.revision, s.logLevel, s.exit = r.Text(), r.Text(), r.Text()
	for i := range s.peers {
		s.peers[i] = Peer{Name: r.Text(), Version: r.Text(), info: r.Text(), Capabilities: raw(r.Text())}
		s.blocked[i] = stall{r.Uint(), time.Duration(r.Uint())}
		s.ended[i] = r.Text()
	}
	s.sealed = r.flag()
	for n := r.Count(); n > 0 && !r.Bad(); n-- {
		x := &call{
			dir: r.dir(), id: r.Text(), raw: r.Text(), method: r.Text(), target: r.Text(), token: r.Text(), rawToken: r.Text(),
			version: r.Text(), progress: r.Text(), total: r.Text(), message: r.Text(), filter: r.Text(),
			stream: r.Uint(), seq: r.Uint(), at: time.Duration(r.Uint()), reports: r.Uint(), cancelled: r.Uint(), cut: r.Uint(),
			acknowledged: r.Uint(), notified: r.Uint(),
		}
		s.takesUp(x, r.flag())
	}
	for n := r.Count(); n > 0 && !r.Bad(); n-- {
		sub := Subscription{URI: r.Text(), Since: r.Uint(), Notified: r.Uint()}
		s.subscriptions[sub.URI] = sub
	}
	for n := r.Count(); n > 0 && !r.Bad(); n-- {
		t := Task{ID: r.Text(), Dir: r.dir(), Status: r.Text(), Message: r.Text(), Since: r.Uint(), Told: r.Uint()}
		t.By = t.Dir.Sender()
		s.tasks[key{t.Dir, t.ID}] = t
		s.statuses[t.Status]++
	}
	for n := r.Count(); n > 0 && !r.Bad(); n-- {
		x := Stream{Number: r.Uint(), Method: r.Text(), Path: r.Text(), Status: int(r.Uint()), Since: r.Uint(), C2S: r.Uint(), S2C: r.Uint()}
		s.streams[x.Number] = x
	}
	s.lanes = queues
	for l, q := range queues {
		s.queued[l.dir] += len(q)
	}
	if !r.Whole() {
		return nil, errSnapshot
	}
	return s, nil
}

// takesUp adds an open call; holds says whether its token names it.
func (s *State) takesUp(x *call, holds bool) {
	k := key{x.dir, x.id}
	s.calls[k] = append(s.calls[k], x)
	if x.stream != 0 && x.cut == 0 {
		s.asked[x.stream] = append(s.asked[x.stream], x)
	}
	if holds {
		s.tokens[key{x.dir, x.token}] = x
	}
	if x.method != mcp.MethodListen {
		s.open++
	} else if x.acknowledged != 0 {
		s.listening++
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

// writer appends numbers and texts.
type writer struct{ b []byte }

func (w *writer) uint(numbers ...uint64) { w.b = varint.Append(w.b, numbers...) }

func (w *writer) text(texts ...string) { w.b = varint.AppendText(w.b, texts...) }

func (w *writer) flag(set bool) {
	if set {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

// reader reads them again.
type reader struct{ varint.Reader }

func (r *reader) flag() bool {
	b := r.Take(1)
	return len(b) == 1 && b[0] == 1
}

func (r *reader) dir() transport.Direction {
	if b := r.Take(1); len(b) == 1 {
		return transport.Direction(b[0])
	}
	return 0
}
