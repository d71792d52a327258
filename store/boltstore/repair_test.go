package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/chunk"
	"github.com/mcprec/mcprec/store/storetest"
	"github.com/mcprec/mcprec/transport"
)

// TestDamagedSpools damages a dead spool anywhere, whole or folded in part, and
// its lock file. What is handed out is an unbroken beginning and what stands for
// the rest; repair adds every event behind the damage whose checksum holds.
func TestDamagedSpools(t *testing.T) {
	live := testStore(t, memDir(t))
	events := testLog(1, 60, 250, true)
	p := startSpool(t, live, events[:30])
	early := died(t, live)
	if _, err := live.fold(t.Context(), testID(1), p.(*spool).key, foldLimit{}); err != nil {
		t.Fatal(err)
	}
	if err := p.Write(asParts(events[30:])); err != nil {
		t.Fatal(err)
	}
	folded, whole := died(t, live), died(t, live)
	if err := errors.Join(os.RemoveAll(whole.storeDir()), p.Close(), early.Close()); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 8))
	tried := rounds(20)
	for round := range tried {
		from := folded
		if round%2 == 0 {
			from = whole
		}
		s := copyOf(t, from)
		path := s.spoolPath(testID(1))
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		harm(r, b)
		err = os.WriteFile(path, b, 0o600)
		if round%5 == 0 {
			junk := make([]byte, r.IntN(9000))
			err = errors.Join(err, os.WriteFile(s.lockPath(testID(1)), junk, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		said := fmt.Sprintf("round %d", round)
		beginning(t, s, b, events, said)
		repairedSpool(t, s, b, events, said)
	}
	storetest.Tell(t, "bits flipped and blocks zeroed in a spool, junk in lock files", tried, "an unbroken beginning at once; repair adds what is whole behind the damage")
}

func harm(r *rand.Rand, b []byte) {
	if at := r.IntN(len(b)); r.IntN(3) > 0 {
		b[at] ^= 1 << r.IntN(8)
	} else {
		clear(b[at:min(at+1+r.IntN(1500), len(b))])
	}
}

// copyOf copies a store in memory.
func copyOf(t *testing.T, from *Store) *Store {
	t.Helper()
	to := testStore(t, memDir(t))
	for _, dir := range []string{"/spool", "/store"} {
		if err := errors.Join(os.MkdirAll(to.dir+dir, 0o700)); err != nil {
			t.Fatal(err)
		}
		entries, _ := os.ReadDir(from.dir + dir)
		for _, e := range entries {
			b, err := os.ReadFile(from.dir + dir + "/" + e.Name())
			if err == nil {
				err = os.WriteFile(to.dir+dir+"/"+e.Name(), b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return to
}

// beginning holds that a damaged spool gives an unbroken beginning, and says so
// unless only its tail is bad: then it is a session whose recorder died.
func beginning(t *testing.T, s *Store, b []byte, events []store.Event, said string) {
	t.Helper()
	got, err := readAll(s, testID(1))
	if n := len(got); n > 0 && got[n-1].Kind == store.Lost {
		got = got[:n-1]
	}
	behind := slices.ContainsFunc(events[len(got):], func(e store.Event) bool { return holds(b, e) })
	if wrong := sameLog(got, events[:len(got)]); wrong != nil {
		t.Fatalf("%s: %v", said, wrong)
	}
	faults := 0
	if fault := s.Verify(t.Context(), func(error) { faults++ }); fault != nil || faults == 0 && behind {
		t.Fatalf("%s: %d events, verify found nothing (%v)", said, len(got), fault)
	}
	if err == nil && len(got) < len(events) && one(t, s, testID(1)).State != store.Crashed {
		t.Fatalf("%s: %d of %d events, and nothing said", said, len(got), len(events))
	}
}

// repairedSpool holds that repair saves every record that is intact.
func repairedSpool(t *testing.T, s *Store, b []byte, events []store.Event, said string) {
	t.Helper()
	for range 2 { // the second finds nothing to do
		if err := s.Repair(t.Context(), false, func(store.Repaired) {}); err != nil {
			t.Fatalf("%s: repair: %v", said, err)
		}
	}
	mustVerify(t, s)
	got, err := readAll(s, testID(1))
	if err != nil {
		t.Fatalf("%s: %v", said, err)
	}
	remaining(t, got, events[:len(got)])
	for _, e := range events {
		if !holds(b, e) {
			continue
		}
		if int(e.Seq) > len(got) || !got[e.Seq-1].Equal(e) {
			t.Fatalf("%s: event %d is whole and was not saved, %d saved", said, e.Seq, len(got))
		}
	}
}

// holds reports whether the record of an event is whole in a spool.
func holds(b []byte, e store.Event) bool {
	return bytes.Contains(b, appendRecord(nil, &store.Part{Event: e}))
}

// TestSalvage gives one session out of a wreck and of a whole store, and nothing
// that was removed.
func TestSalvage(t *testing.T) {
	s := testStore(t, memDir(t))
	logs := map[store.SessionID][]store.Event{}
	for i := range 3 {
		logs[testID(i)] = testLog(i, 20, 2000, true)
		if _, err := s.Append(t.Context(), testID(i), 0, logs[testID(i)]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), testID(0)); err != nil {
		t.Fatal(err)
	}
	key, _ := testID(1).Bytes()
	path := s.databasePath(key)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := -1; page < len(whole)/4096; page++ {
		b := bytes.Clone(whole)
		if page >= 0 {
			clear(b[page*4096 : page*4096+4096])
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		salvaged(t, s, logs, page)
	}
}

func salvaged(t *testing.T, s *Store, logs map[store.SessionID][]store.Event, page int) {
	t.Helper()
	for _, id := range slices.Sorted(maps.Keys(logs)) {
		var got []store.Event
		var err error
		for e, fault := range s.Salvage(t.Context(), id) {
			if err = fault; err == nil {
				got = append(got, e)
			}
		}
		if id == testID(0) && page < 2 && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("page %d: the removed session: %d events, %v", page, len(got), err)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("page %d: %v", page, err)
		}
		lost := remaining(t, got, logs[id])
		if page < 2 && id != testID(0) && (lost > 0 || len(got) != len(logs[id])) {
			t.Errorf("page %d: session %s: %d events, %d lost", page, id, len(got), lost)
		}
	}
}

// TestRepairOpenEnd: where the last chunk of a session and the projection that states its end are
// both damaged, repair says that the end is unknown, and a lost event stands for it.
func TestRepairOpenEnd(t *testing.T) {
	s := testStore(t, memDir(t))
	events := testLog(1, 200, 4000, true)
	if _, err := s.Append(t.Context(), testID(1), 0, events); err != nil {
		t.Fatal(err)
	}
	key, _ := testID(1).Bytes()
	last := uint64(0)
	err := s.update(t.Context(), s.databasePath(key), func(tx *dbTx) error {
		k, v := tx.ev.Cursor().Last()
		last = binary.BigEndian.Uint64(k[16:])
		p := bytes.Clone(tx.meta.Get(key[:]))
		v = bytes.Clone(v)
		p[0] ^= 1
		v[0] ^= 1
		return errors.Join(tx.ev.Put(bytes.Clone(k), v), tx.meta.Put(key[:], p))
	})
	if err != nil {
		t.Fatal(err)
	}
	var said []store.Salvaged
	if err := s.Repair(t.Context(), false, func(r store.Repaired) { said = append(said, r.Sessions...) }); err != nil {
		t.Fatal(err)
	}
	if want := (store.Salvaged{ID: testID(1), Saved: last - 1, Lost: 1, Open: true}); len(said) != 1 || said[0] != want {
		t.Errorf("repair: %+v, want %+v", said, want)
	}
	got, err := readAll(s, testID(1))
	if err != nil || uint64(len(got)) != last || last < 2 {
		t.Fatalf("%d events, want %d: %v", len(got), last, err)
	}
	info, err := store.DecodePayload[store.LostInfo](got[last-1])
	if err != nil || !info.LacksFrames(transport.ServerToClient) || !strings.Contains(info.Reason, "more events may be missing") {
		t.Errorf("last event: %+v, %v", info, err)
	}
}

// TestRepairKeepsNewer holds that what a newer version wrote is not repaired
// away.
func TestRepairKeepsNewer(t *testing.T) {
	s := testStore(t, memDir(t))
	if _, err := s.Append(t.Context(), testID(1), 0, testLog(1, 20, 2000, true)); err != nil {
		t.Fatal(err)
	}
	key, _ := testID(1).Bytes()
	err := s.update(t.Context(), s.databasePath(key), func(tx *dbTx) error {
		k := chunkKey(key, 1)
		v := bytes.Clone(tx.ev.Get(k[:]))
		v[4] = chunk.Version + 1
		putSum(v, chunkSum(k, v))
		return tx.ev.Put(k[:], v)
	})
	if err != nil {
		t.Fatal(err)
	}
	live := testStore(t, memDir(t))
	p := startSpool(t, live, testLog(1, 10, 2000, false))
	old, err := os.ReadFile(live.spoolPath(testID(1)))
	if err = errors.Join(err, p.Close()); err != nil {
		t.Fatal(err)
	}
	for _, kept := range []bool{false, true} {
		if kept { // an old spool, whose events seem to be more than can be read of the session
			if err := os.WriteFile(s.spoolFile(testID(1), ".damaged"), old, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err = s.Repair(t.Context(), false, func(r store.Repaired) { t.Errorf("repaired %+v", r) })
		if !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), "newer") {
			t.Errorf("repair: %v", err)
		}
		if _, err := readAll(s, testID(1)); !errors.Is(err, store.ErrNewer) {
			t.Errorf("after repair, with an old spool: %t: %v", kept, err)
		}
	}
}

// TestRepairSpools: a damaged spool that was kept adds the events that its session lacks. A
// session that lacks none stays as it is, and a dry run changes nothing.
func TestRepairSpools(t *testing.T) {
	plain := testLog(1, 20, 200, true)
	with := func(reason string) []store.Event {
		events := slices.Clone(plain)
		events[10].Kind, events[10].Payload = store.Lost, store.EncodePayload(store.LostInfo{Frames: 1, Reason: reason})
		return events
	}
	said := slices.Clone(plain)
	said[10].Payload = with(spoolDamaged)[10].Payload // a frame that reads like a lost event
	for _, c := range []struct {
		name          string
		folded, spool int // how many events the database and the spool have
		ending        string
		dry, gained   bool
		want          int
		here, there   []store.Event // the database's and the spool's, if not plain
	}{
		{"an old spool", 20, 10, ".damaged", false, false, 20, nil, nil},
		{"as many events", 20, 20, ".damaged", false, false, 20, nil, nil},
		{"more events", 10, 20, ".damaged", false, true, 20, nil, nil},
		{"more events, a dry run", 10, 20, ".damaged", true, true, 10, nil, nil},
		{"an old spool, a dry run", 20, 10, ".damaged", true, false, 20, nil, nil},
		{"no session", 0, 20, ".damaged", false, true, 20, nil, nil},
		{"no session, a dry run", 0, 20, ".damaged", true, true, 0, nil, nil},
		{"a whole spool, a dry run", 0, 20, ".log", true, false, 20, nil, nil},
		{"a deleted session", -1, 20, ".damaged", false, false, 0, nil, nil},
		{"what the damage hid", 11, 20, ".damaged", false, true, 20, with(spoolDamaged), nil},
		{"what was lost for another reason", 20, 20, ".damaged", false, false, 20, with("disk full"), with("disk full")},
		{"a frame about damage", 20, 20, ".damaged", false, false, 20, said, said},
	} {
		if c.here == nil {
			c.here = plain
		}
		if c.there == nil {
			c.there = plain
		}
		live, s := testStore(t, memDir(t)), testStore(t, memDir(t))
		p := startSpool(t, live, c.there[:c.spool])
		spool, err := os.ReadFile(live.spoolPath(testID(1)))
		_, err2 := s.makeFolders()
		if err = errors.Join(err, err2, p.Close()); err != nil {
			t.Fatal(err)
		}
		if n := max(c.folded, -20*c.folded); n > 0 {
			_, err = s.Append(t.Context(), testID(1), 0, c.here[:n])
		}
		if c.folded < 0 {
			err = errors.Join(err, s.Delete(t.Context(), testID(1)))
		}
		if err = errors.Join(err, os.WriteFile(s.spoolFile(testID(1), c.ending), spool, 0o600)); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var said []store.Repaired
		if err := s.Repair(t.Context(), c.dry, func(r store.Repaired) { said = append(said, r) }); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if (len(said) > 0) != c.gained || c.gained && (len(said[0].Sessions) != 1 || said[0].Sessions[0].Saved != 20 || (said[0].Kept == "") != c.dry) {
			t.Errorf("%s: repaired %+v", c.name, said)
		}
		if hid := strings.HasPrefix(c.name, "what the damage"); c.gained && errors.Is(said[0].Fault, store.ErrCorrupt) != hid {
			t.Errorf("%s: its fault: %v", c.name, said[0].Fault)
		}
		want := c.there[:c.want]
		if !c.gained || c.dry {
			want = c.here[:c.want]
		}
		if got, err := readAll(s, testID(1)); c.want == 0 && !errors.Is(err, store.ErrNotFound) || c.want > 0 && errors.Join(err, sameLog(got, want)) != nil {
			t.Errorf("%s: %d events, want %d: %v", c.name, len(got), c.want, err)
		}
	}
}

func putSum(v []byte, sum uint32) {
	v[0], v[1], v[2], v[3] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
}

// TestRepairBehindBranches: behind damaged branches nothing is lost, and a removed session whose tombstone
// is lost does not come back from the free pages.
func TestRepairBehindBranches(t *testing.T) {
	s, path, _ := damageStore(t)
	if err := s.Delete(t.Context(), testID(3)); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	removed, _ := testID(3).Bytes()
	tree := &pageTree{file: bytes.NewReader(b), seen: map[uint64]bool{}}
	root, _, err := tree.meta()
	if err != nil {
		t.Fatal(err)
	}
	harmed := map[int]bool{}
	w := walk{pageTree: tree, each: func(key []byte, value extent) {
		if bytes.Equal(key, removed[:]) {
			harmed[int(value.offset)/int(tree.pageSize)] = true
		}
	}}
	if err := w.all(root); err != nil || len(harmed) != 1 {
		t.Fatal(harmed, err)
	}
	for _, at := range elements(b, pageBranch) {
		harmed[at/int(tree.pageSize)] = true
	}
	if len(harmed) < 3 {
		t.Fatalf("%d pages", len(harmed))
	}
	for page := range harmed {
		clear(b[page*int(tree.pageSize) : (page+1)*int(tree.pageSize)])
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	var said []store.Repaired
	if err := s.Repair(t.Context(), false, func(r store.Repaired) { said = append(said, r) }); err != nil || len(said) != 1 || said[0].GoneID != testID(3) {
		t.Fatalf("%d damaged files, %v", len(said), err)
	}
	for i, events := range damageLogs() {
		if i == 3 {
			if _, err := readAll(s, testID(3)); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("the removed session: %v", err)
			}
			continue
		}
		mustRead(t, s, testID(i), events)
	}
	mustVerify(t, s)
}
