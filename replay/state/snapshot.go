package state

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mcprec/mcprec/store/varint"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// SnapshotVersion changes with the format of a snapshot and with the meaning of events: a
// snapshot of another version is of no use.
const SnapshotVersion = 2

// AppendSnapshot appends the state as bytes for [Restore]. A queue may grow with the session:
// a snapshot holds only the frames behind the event after, the event of the snapshot before,
// or 0 for the whole queue.
//
// The format: the length of the queues and the queues; then numbers as varints and texts as
// length and bytes, in the order of the code. Maps are in the order of the keys, calls in the
// order of the requests.
func (s *State) AppendSnapshot(b []byte, after uint64) []byte {
	w := writer{}
	lanes := slices.SortedFunc(maps.Keys(s.queues.lanes), func(a, b lane) int {
		return cmp.Or(cmp.Compare(a.stream, b.stream), cmp.Compare(a.dir, b.dir))
	})
	w.uint(uint64(len(lanes)))
	for _, l := range lanes {
		seqs := s.queues.lanes[l]
		fresh, _ := slices.BinarySearch(seqs, after+1)
		w.b = append(w.b, byte(l.dir))
		w.uint(l.stream, uint64(len(seqs)), uint64(len(seqs)-fresh), after)
		last := after
		for _, seq := range seqs[fresh:] {
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
	calls := s.calls.all()
	w.uint(uint64(len(calls)))
	for _, c := range calls {
		w.b = append(w.b, byte(c.dir))
		w.text(string(c.id), c.rawID, c.method, c.target, string(c.token), c.rawToken, c.revision, c.progress, c.total, c.message, c.filter)
		w.uint(c.stream, c.seq, uint64(c.at), c.reports, c.cancelled, c.cut, c.acknowledged, c.notified)
		w.flag(s.calls.holdsToken(c))
	}
	w.uint(uint64(len(s.subscriptions)))
	for _, uri := range slices.Sorted(maps.Keys(s.subscriptions)) {
		w.text(uri)
		w.uint(s.subscriptions[uri].Since, s.subscriptions[uri].Notified)
	}
	w.uint(uint64(len(s.tasks)))
	for _, key := range slices.SortedFunc(maps.Keys(s.tasks), taskKey.compare) {
		t := s.tasks[key]
		w.text(t.ID)
		w.b = append(w.b, byte(t.Dir))
		w.text(t.Status, t.Message)
		w.uint(t.Since, t.Told)
	}
	w.uint(uint64(len(s.streams)))
	for _, n := range slices.Sorted(maps.Keys(s.streams)) {
		stream := s.streams[n]
		w.uint(n)
		w.text(stream.Method, stream.Path)
		w.uint(uint64(stream.Status), stream.Since, stream.C2S, stream.S2C)
	}
	return w.b
}

// Add takes in the queues of the next snapshot of a session, from the first on.
func (q Queues) Add(snapshot []byte) error {
	all := varint.NewReader(snapshot)
	r := reader{varint.NewReader(all.Take(all.Uint()))}
	seen := map[lane]bool{}
	for n := r.Count(); n > 0 && !r.Bad(); n-- {
		l := lane{index(r.direction()), r.Uint()}
		whole, fresh := r.Uint(), r.Count()
		seqs := q[l]
		if whole < uint64(fresh) || whole-uint64(fresh) > uint64(len(seqs)) || whole == 0 || seen[l] {
			return errSnapshot
		}
		seen[l] = true
		seqs = seqs[uint64(len(seqs))-(whole-uint64(fresh)):]
		last := r.Uint()
		for range fresh {
			last += r.Uint()
			seqs = append(seqs, last)
		}
		q[l] = seqs
	}
	maps.DeleteFunc(q, func(l lane, _ []uint64) bool { return !seen[l] })
	if !r.Whole() {
		return errSnapshot
	}
	return nil
}

var errSnapshot = errors.New("restore state: not a snapshot")

// Restore makes a state of a snapshot and of the queues, which [Queues.Add] has taken from
// the snapshot and the snapshots before. The state owns the queues from then on.
func Restore(snapshot []byte, lanes Queues) (*State, error) {
	s := New()
	r := reader{varint.NewReader(snapshot)}
	r.Take(r.Uint())
	s.seq = r.Uint()
	s.at = r.duration()
	s.frames = [3]uint64{r.Uint(), r.Uint(), r.Uint()}
	s.failures = r.Uint()
	s.lost = r.Uint()
	s.greeted = r.Uint()
	s.revision = r.Text()
	s.logLevel = r.Text()
	s.exit = r.Text()
	for i := range s.peers {
		s.peers[i] = Peer{Name: r.Text(), Version: r.Text(), info: r.Text(), Capabilities: raw(r.Text())}
		s.blocked[i] = stall{r.Uint(), r.duration()}
		s.ended[i] = r.Text()
	}
	s.sealed = r.flag()
	for n := r.Count(); n > 0 && !r.Bad(); n-- {
		c := &call{
			dir: r.direction(), id: mcp.Key(r.Text()), rawID: r.Text(), method: r.Text(), target: r.Text(), token: mcp.Key(r.Text()), rawToken: r.Text(),
			revision: r.Text(), progress: r.Text(), total: r.Text(), message: r.Text(), filter: r.Text(),
			stream: r.Uint(), seq: r.Uint(), at: r.duration(), reports: r.Uint(), cancelled: r.Uint(), cut: r.Uint(),
			acknowledged: r.Uint(), notified: r.Uint(),
		}
		r.flag() // whether progress with the token belongs to the call, which add finds again
		s.calls.add(c)
	}
	for n := r.Count(); n > 0 && !r.Bad(); n-- {
		sub := Subscription{URI: r.Text(), Since: r.Uint(), Notified: r.Uint()}
		s.subscriptions[sub.URI] = sub
	}
	for n := r.Count(); n > 0 && !r.Bad(); n-- {
		t := Task{ID: r.Text(), Dir: r.direction(), Status: r.Text(), Message: r.Text(), Since: r.Uint(), Told: r.Uint()}
		t.By = t.Dir.Sender()
		s.tasks[taskKey{t.Dir, mcp.Key(t.ID)}] = t
		s.statuses[t.Status]++
	}
	for n := r.Count(); n > 0 && !r.Bad(); n-- {
		stream := Stream{Number: r.Uint(), Method: r.Text(), Path: r.Text(), Status: int(r.Uint()), Since: r.Uint(), C2S: r.Uint(), S2C: r.Uint()}
		s.streams[stream.Number] = stream
	}
	s.queues.lanes = lanes
	for l, seqs := range lanes {
		s.queues.counts[l.dir] += len(seqs)
	}
	if !r.Whole() {
		return nil, errSnapshot
	}
	return s, nil
}

// writer appends numbers, texts and flags.
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

// reader reads the fields of a snapshot.
type reader struct{ varint.Reader }

func (r *reader) duration() time.Duration { return time.Duration(r.Uint()) }

func (r *reader) flag() bool {
	b := r.Take(1)
	return len(b) == 1 && b[0] == 1
}

func (r *reader) direction() transport.Direction {
	if b := r.Take(1); len(b) == 1 {
		return transport.Direction(b[0])
	}
	return 0
}
