package state

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	want, err := os.ReadFile(path)
	if *update {
		err = os.WriteFile(path, []byte(got), 0o644)
		want = []byte(got)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is otherwise; -update rewrites it, read the diff. Now:\n%s", path, got)
	}
}

// lines makes a session of lines, a second apart: > or < and a frame, the number of its
// exchange behind the sign if it has one, or a kind/direction and its payload.
func lines(text string) []store.Event {
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: store.Header{}.Encode()}}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		word, payload, _ := strings.Cut(strings.TrimSpace(line), " ")
		e := store.Event{Seq: uint64(len(events) + 1), At: time.Duration(len(events)) * time.Second, Kind: store.Frame, Payload: []byte(payload)}
		kind, dir, other := strings.Cut(word, "/")
		if other {
			e.Kind = store.Kind(kind)
			word = dir
		}
		if word != "" {
			e.Dir = map[byte]transport.Direction{'>': transport.ClientToServer, '<': transport.ServerToClient}[word[0]]
			fmt.Sscan(word[1:], &e.Stream)
		}
		events = append(events, e)
	}
	return events
}

// session is a state with the model of its session.
type session struct {
	*State
	model *timeline.Model
}

func newSession() session { return session{New(), timeline.NewModel(timeline.Remembered)} }

func (s session) take(e store.Event) error { return s.Take(s.model.Take(e)) }

func (s session) clone() session {
	model, copies := s.model.Clone()
	return session{s.Clone(copies), model}
}

// fold returns the session after the events.
func fold(t testing.TB, events []store.Event) session {
	t.Helper()
	s := newSession()
	for _, e := range events {
		if err := s.take(e); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *State) facts() string {
	var b strings.Builder
	for _, f := range s.View(0).Facts() {
		fmt.Fprintf(&b, "    %v\n", f)
	}
	return b.String()
}

// TestLive holds that the calls of a session that goes on have waited until now.
func TestLive(t *testing.T) {
	s := fold(t, lines(`> {"id":1,"method":"ping"}`))
	for now, want := range map[time.Duration]string{0: "0s", time.Second: "1s"} {
		if v := s.View(s.at + now); v.Calls[0].Waited != want || (v.Now == "") != (now == 0) {
			t.Errorf("%v later: %+v", now, v)
		}
	}
}

// TestPlaybook tells each session of playbook.txt after each of its events: what is
// written there below an event is what changed with it.
func TestPlaybook(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "sessions.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for session := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		title, body, _ := strings.Cut(session, "\n")
		fmt.Fprintln(&b, title)
		s := newSession()
		for _, e := range lines(body) {
			before := s.clone()
			if err := s.take(e); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "  #%d %s %s %s\n", e.Seq, e.Kind, e.Dir, e.Payload)
			for _, c := range Diff(before.View(0), s.View(0)) {
				if c.Topic == "messages" {
					continue // of every line
				}
				if c.Before != "" {
					fmt.Fprintf(&b, "    - %-12s %s\n", c.Topic, c.Before)
				}
				if c.After != "" {
					fmt.Fprintf(&b, "    + %-12s %s\n", c.Topic, c.After)
				}
			}
		}
		fmt.Fprintf(&b, "  the end\n%s\n", s.facts())
	}
	golden(t, "playbook.txt", b.String())
}

// TestSessions: how the bundled sessions, and real ones, stand in the middle and at the
// end. At each event what is counted agrees with what is listed, and a clone taken there
// neither changes nor is changed.
func TestSessions(t *testing.T) {
	var b strings.Builder
	for _, path := range sessionFiles(t) {
		events, err := jsonl.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		half := fold(t, events[:len(events)/2])
		was := half.facts()
		whole := half.clone()
		var of filter.Filter
		for _, e := range events[len(events)/2:] {
			if err := whole.take(e); err != nil {
				t.Fatal(err)
			}
			agrees(t, whole.State)
			if w := whole.calls.watch(&of); w.open != whole.calls.open {
				t.Errorf("%s: #%d: %d calls watched, %d open", path, e.Seq, w.open, whole.calls.open)
			}
		}
		if got := half.facts(); got != was {
			t.Errorf("%s: a clone went on and changed its origin:\n%s\nwas\n%s", path, got, was)
		}
		if got, want := form(t, whole.State), form(t, fold(t, events).State); got != want {
			t.Errorf("%s: from a clone in the middle\n%s\nfrom the start\n%s", path, got, want)
		}
		fmt.Fprintf(&b, "%s\n  after #%d\n%s  after #%d\n%s", filepath.Base(path), half.Seq(), was, whole.Seq(), whole.facts())
	}
	golden(t, "bundled.txt", b.String())
}

func sessionFiles(t *testing.T) (files []string) {
	for _, folder := range []string{"../../fixtures", "../../fixtures/testdata/sessions", "../../store/foreign/testdata/mcp-frames"} {
		found, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*.jsonl"))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d sessions, %v", folder, len(found), err)
		}
		files = append(files, found...)
	}
	return files
}

// form is all of a view.
func form(t testing.TB, s *State) string {
	t.Helper()
	b, err := json.Marshal(s.View(0))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// agrees checks the counts against the lists.
func agrees(t testing.TB, s *State) {
	t.Helper()
	v := s.View(0)
	queued, statuses, listening := [3]int{}, 0, 0
	for l, q := range s.queues.lanes {
		queued[l.dir] += q.size
		if seqs := q.seqs(); !slices.IsSorted(seqs) || len(seqs) != q.size {
			t.Errorf("#%d: queue %v, size %d", s.seq, seqs, q.size)
		}
	}
	for _, n := range s.statuses {
		statuses += n
	}
	for _, sub := range v.Subscriptions {
		if sub.Listen != nil && !sub.Pending {
			listening++
		}
	}
	for _, w := range s.calls.watches {
		open := slices.DeleteFunc(slices.Clone(w.calls), func(x *call) bool { return x.closed })
		if len(open) != w.open || len(w.calls) > 0 && w.calls[0].closed {
			t.Errorf("#%d: %d watched calls of %d", s.seq, w.open, len(open))
		}
	}
	if len(v.Calls) != s.calls.open || queued != s.queues.counts || statuses != len(v.Tasks) || listening != s.calls.listening {
		t.Errorf("#%d: %d calls of %d, queued %v of %v, %d tasks of %d, %d listens of %d",
			s.seq, len(v.Calls), s.calls.open, queued, s.queues.counts, len(v.Tasks), statuses, listening, s.calls.listening)
	}
}

// FuzzState: whatever a peer writes, the counts agree, and a clone goes on as its origin.
func FuzzState(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "sessions.txt"))
	if err != nil {
		f.Fatal(err)
	}
	for session := range strings.SplitSeq(string(text), "\n\n") {
		f.Add(session)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := newSession()
		f := followed{Follower: NewFollower()}
		var clone session
		for i, line := range strings.Split(text, "\n") {
			if strings.TrimSpace(line) == "" {
				continue
			}
			for _, e := range lines(line)[1:] {
				e.Seq, e.At = uint64(i+1), time.Duration(i)
				if e.Kind == store.Opened {
					continue // a header that cannot be read is an error
				}
				step := s.model.Take(e)
				_ = s.Take(step)
				f.take(t, step)
				f.agrees(t, s.View(0))
				if clone.State != nil {
					clone.take(e)
				}
			}
			if clone.State == nil {
				clone = s.clone()
			}
			agrees(t, s.State)
		}
		if clone.State != nil && form(t, clone.State) != form(t, s.State) {
			t.Errorf("the clone\n%s\nits origin\n%s", form(t, clone.State), form(t, s.State))
		}
	})
}

// TestManyOpen: twenty thousand calls with one id, each on an exchange of its own,
// cost what they are, also when a condition goes through them.
func TestManyOpen(t *testing.T) {
	const n = 20_000
	holds, err := ParseCondition("pending(tool:x) > 20000 or waited(tool:x) > 1000h")
	if err != nil {
		t.Fatal(err)
	}
	s, seq := newSession(), uint64(0)
	apply := func(dir transport.Direction, stream uint64, text string) {
		seq++
		s.take(store.Event{Seq: seq, At: time.Duration(seq), Kind: store.Frame, Dir: dir, Stream: stream, Payload: []byte(text)})
		if holds.Holds(s.State) {
			t.Fatalf("#%d: %v", seq, holds)
		}
	}
	for i := range uint64(n) {
		apply(transport.ClientToServer, i+1, `{"id":1,"method":"tools/call","params":{"name":"x"}}`)
	}
	if s.calls.open != n {
		t.Errorf("%d open", s.calls.open)
	}
	for i := range uint64(n) {
		apply(transport.ServerToClient, i+1, `{"id":1,"result":{}}`)
	}
	if agrees(t, s.State); s.calls.open != 0 || len(s.calls.all()) != 0 {
		t.Errorf("%d open, %d in the index", s.calls.open, len(s.calls.all()))
	}
}

// seqs returns the Seqs of a list.
func (l seqList) seqs() (seqs []uint64) {
	for _, block := range l.blocks {
		for i := range block.distances {
			seqs = append(seqs, block.at(i))
		}
	}
	return seqs
}

// TestSeqList: a list and its clones agree with slices, whatever is added and dropped.
func TestSeqList(t *testing.T) {
	type pair struct {
		list seqList
		want []uint64
	}
	pairs := []pair{{}}
	random := rand.New(rand.NewPCG(1, 2))
	seq := uint64(0)
	for range 300 {
		at := random.IntN(len(pairs))
		p := &pairs[at]
		switch random.IntN(3) {
		case 0:
			for range random.IntN(3 * blockSize) {
				seq++
				if random.IntN(2*blockSize) == 0 {
					seq += math.MaxUint32 // more than a block spans
				}
				p.list = p.list.add(seq)
				p.want = append(p.want, seq)
			}
		case 1:
			upto := seq - uint64(random.IntN(4*blockSize))%(seq+1)
			rest, dropped := p.list.drop(upto)
			kept := slices.DeleteFunc(slices.Clone(p.want), func(seq uint64) bool { return seq <= upto })
			if dropped != len(p.want)-len(kept) {
				t.Fatalf("drop %d: %d, want %d", upto, dropped, len(p.want)-len(kept))
			}
			p.list, p.want = rest, kept
		default:
			if len(pairs) < 8 {
				clone := p.list.clone()
				pairs = append(pairs, pair{clone, slices.Clone(p.want)})
			}
		}
		for _, p := range pairs {
			got := p.list.seqs()
			if !slices.Equal(got, p.want) || p.list.size != len(p.want) {
				t.Fatalf("%d Seqs, want %d", len(got), len(p.want))
			}
			if len(p.want) > 0 && (p.list.first() != p.want[0] || p.list.last() != p.want[len(p.want)-1]) {
				t.Fatalf("from %d to %d", p.list.first(), p.list.last())
			}
		}
	}
}
