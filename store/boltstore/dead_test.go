package boltstore

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// TestTornTail cuts a dead spool at every byte of its last records: what is
// before them is the session, at once and after the fold.
func TestTornTail(t *testing.T) {
	live := testStore(t, t.TempDir())
	events := testLog(1, 6, 60, true)
	p := startSpool(t, live, events[:4])
	before := p.(*spool).good
	if err := p.Write(asParts(events[4:5])); err != nil {
		t.Fatal(err)
	}
	last := p.(*spool).good
	if err := p.Write(asParts(events[5:])); err != nil {
		t.Fatal(err)
	}
	s := died(t, live)
	whole, err := os.ReadFile(s.spoolPath(testID(1)))
	if err != nil {
		t.Fatal(err)
	}
	for n := before; n <= int64(len(whole)); n++ {
		want := events[:4]
		if n >= last {
			want = events[:5]
		}
		if n == int64(len(whole)) {
			want = events
		}
		for _, tail := range []string{"", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"} {
			s := testStore(t, t.TempDir())
			if err := s.makeDirs(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(s.spoolPath(testID(1)), append(whole[:n:n], tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			mustRead(t, s, testID(1), want)
			if got := one(t, s, testID(1)); got.Head.Seq != uint64(len(want)) || (got.State == store.Ended) != (len(want) == 6) {
				t.Fatalf("cut at %d: listed %+v", n, got)
			}
			if n%9 == 0 || n == int64(len(whole)) { // a fold costs some syncs
				mustFoldDead(t, s)
				mustRead(t, s, testID(1), want)
				if exists(t, s.spoolPath(testID(1))) {
					t.Fatal("the spool is still there")
				}
			}
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestNotBegun holds that a spool without a whole first record is no session.
func TestNotBegun(t *testing.T) {
	live := testStore(t, t.TempDir())
	p := startSpool(t, live, testLog(1, 1, 0, false))
	whole, err := os.ReadFile(live.spoolPath(testID(1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 31, 32, 33, 40, 50, len(whole) - 1} {
		s := died(t, live)
		if err := os.WriteFile(s.spoolPath(testID(1)), whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		for x, err := range s.Sessions(t.Context(), store.Query{}) {
			t.Errorf("%d bytes: listed %v, %v", n, x, err)
		}
		mustFoldDead(t, s)
		if exists(t, s.spoolPath(testID(1))) {
			t.Errorf("%d bytes: still there after the fold", n)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedSpool flips a bit in the middle: what is before it is kept, a lost
// event says what follows, and the file is kept.
func TestDamagedSpool(t *testing.T) {
	live := testStore(t, t.TempDir())
	events := testLog(1, 20, 80, true)
	p := startSpool(t, live, events[:10])
	at := p.(*spool).good
	if err := p.Write(asParts(events[10:])); err != nil {
		t.Fatal(err)
	}
	for _, flip := range []int64{0, 1, 3, 4, 8, 9, 12, 40} {
		s := died(t, live)
		path := s.spoolPath(testID(1))
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[at+flip] ^= 4
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		check := func() {
			t.Helper()
			got, err := readAll(s, testID(1))
			if err != nil || len(got) != 11 {
				t.Fatalf("flip %d: %d events, %v", flip, len(got), err)
			}
			if err := sameLog(got[:10], events[:10]); err != nil {
				t.Fatal(err)
			}
			info, err := store.DecodePayload[store.LostInfo](got[10])
			if got[10].Kind != store.Lost || err != nil || info.Bytes != uint64(int64(len(b))-at) || info.Frames != 10 {
				t.Fatalf("flip %d: lost %+v, %v", flip, info, err)
			}
			if x := one(t, s, testID(1)); x.State != store.Crashed || x.Lost != 10 {
				t.Fatalf("flip %d: listed %+v", flip, x)
			}
		}
		check()
		if err := s.FoldDead(t.Context()); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), ".damaged") {
			t.Fatalf("flip %d: fold says %v", flip, err)
		}
		check()
		kept, err := os.ReadFile(strings.TrimSuffix(path, ".log") + ".damaged")
		if err != nil || len(kept) != len(b) {
			t.Fatalf("flip %d: kept %d bytes, %v", flip, len(kept), err)
		}
		mustFoldDead(t, s)
		mustVerify(t, s)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedSpoolHead holds that a spool without its header is said and kept.
func TestDamagedSpoolHead(t *testing.T) {
	live := testStore(t, t.TempDir())
	p := startSpool(t, live, testLog(1, 5, 80, true))
	for at := range int64(spoolHead) {
		s := died(t, live)
		flipBit(t, s.spoolPath(testID(1)), at*8)
		newer := at == 8 || at == 9
		if _, err := readAll(s, testID(1)); !errors.Is(err, store.ErrCorrupt) && !(newer && errors.Is(err, store.ErrNewer)) {
			t.Errorf("byte %d: read: %v", at, err)
		}
		if err := s.FoldDead(t.Context()); err == nil {
			t.Errorf("byte %d: fold: no error", at)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

func flipBit(t testing.TB, path string, bit int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var b [1]byte
	if _, err := f.ReadAt(b[:], bit/8); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1 << (bit % 8)
	if _, err := f.WriteAt(b[:], bit/8); err != nil {
		t.Fatal(err)
	}
}

// TestFoldTwice holds that a fold that is repeated, because its spool was not
// removed or comes back, changes nothing.
func TestFoldTwice(t *testing.T) {
	live := testStore(t, t.TempDir())
	events := testLog(1, 50, 3000, true)
	p := startSpool(t, live, events[:30])
	ctx, key := context.Background(), p.(*spool).key
	for range 3 {
		if _, err := live.fold(ctx, testID(1), key, false); err != nil {
			t.Fatal(err)
		}
		mustRead(t, live, testID(1), events[:30])
		mustVerify(t, live)
	}
	if err := p.Write(asParts(events[30:])); err != nil {
		t.Fatal(err)
	}
	s := died(t, live)
	log, err := os.ReadFile(s.spoolPath(testID(1)))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		mustRead(t, s, testID(1), events)
		mustFoldDead(t, s)
		mustRead(t, s, testID(1), events)
		if exists(t, s.spoolPath(testID(1))) {
			t.Fatal("the spool is still there")
		}
		// The crash after the transaction and before the removal.
		if err := os.WriteFile(s.spoolPath(testID(1)), log, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustVerify(t, s)
	// The crash between a deletion and the removal.
	if err := s.Delete(ctx, testID(1)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.spoolPath(testID(1)), log, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(s, testID(1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("read after delete: %v", err)
	}
	mustFoldDead(t, s)
	if exists(t, s.spoolPath(testID(1))) {
		t.Error("the spool of a deleted session is still there")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFoldInterleaved folds after every record of long frames of two
// directions, so that each place where a fold may stop is used.
func TestFoldInterleaved(t *testing.T) {
	var records []store.Part
	seq, open := uint64(1), [3]uint64{}
	part := func(dir int, text string, more bool) {
		p := store.Part{Event: store.Event{Kind: store.Frame, Dir: transport.Direction(dir), Payload: []byte(text)}, More: more, Cont: open[dir] != 0}
		if p.Seq = open[dir]; !p.Cont {
			seq++
			p.Seq = seq
		}
		if open[dir] = p.Seq; !more {
			open[dir] = 0
		}
		records = append(records, p)
	}
	for i := range 12 {
		part(1, "a first part ", true)
		part(2, "ANOTHER", i%3 != 0)
		part(1, "its middle ", true)
		part(2, "ANOTHER", i%4 == 0)
		part(1, "its end", i%5 == 0)
	}
	var a store.Assembler
	for _, p := range records {
		if err := a.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	a.Cut()
	want := []store.Event{opening(1)}
	for e, ok := a.Next(); ok; e, ok = a.Next() {
		want = append(want, e)
	}

	s := testStore(t, t.TempDir())
	p := startSpool(t, s, []store.Event{opening(1)})
	for _, r := range records {
		if err := p.Write([]store.Part{r}); err != nil {
			t.Fatal(err)
		}
		before, err := readAll(s, testID(1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.fold(t.Context(), testID(1), p.(*spool).key, false); err != nil {
			t.Fatal(err)
		}
		mustRead(t, s, testID(1), before)
		head, err := s.Head(t.Context(), testID(1))
		if err != nil || head.Seq != uint64(len(before)) {
			t.Fatalf("head %v, %v after %d events", head, err, len(before))
		}
		for e, err := range s.Read(t.Context(), testID(1), head.Seq+1, store.ReadOptions{}) {
			t.Fatalf("past the head: %v, %v", e, err)
		}
	}
	dead := died(t, s)
	mustRead(t, dead, testID(1), want)
	mustFoldDead(t, dead)
	mustRead(t, dead, testID(1), want)
	mustVerify(t, dead)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	mustRead(t, s, testID(1), want)
	mustVerify(t, s)
}

// TestFoldDeadLeavesTheLiving holds that a live spool is not touched.
func TestFoldDeadLeavesTheLiving(t *testing.T) {
	s := testStore(t, t.TempDir())
	p := startSpool(t, s, testLog(1, 10, 100, false))
	other := testStore(t, s.dir)
	mustFoldDead(t, other)
	if !exists(t, s.spoolPath(testID(1))) || one(t, other, testID(1)).State != store.Live {
		t.Error("a live spool was folded away")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if exists(t, s.spoolPath(testID(1))) || exists(t, s.lockPath(testID(1))) {
		t.Error("a closed spool left files")
	}
}

// TestBudget holds that what is too much for one call is left and not lost.
func TestBudget(t *testing.T) {
	s, err := Open(t.TempDir(), Options{FoldBudget: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	events := testLog(1, 30, 1000<<10, true)
	p := startSpool(t, s, events)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if !exists(t, s.spoolPath(testID(1))) {
		t.Fatal("folded beyond the budget")
	}
	for range 8 {
		mustRead(t, s, testID(1), events)
		if one(t, s, testID(1)).Head.Seq != 30 {
			t.Fatal("listed short")
		}
		mustFoldDead(t, s)
	}
	mustRead(t, s, testID(1), events)
	if exists(t, s.spoolPath(testID(1))) {
		t.Error("the spool is still there")
	}
}

// TestNewer holds that what a newer version wrote is refused by name.
func TestNewer(t *testing.T) {
	s := testStore(t, t.TempDir())
	p := startSpool(t, s, testLog(1, 5, 80, true))
	spooled := died(t, s)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	refused := func(s *Store, err error, path string) {
		t.Helper()
		if !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "install a newer mcprec") {
			t.Errorf("read: %v", err)
		}
	}
	path := spooled.spoolPath(testID(1))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{spoolVersion + 1}, 8); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	_, err = readAll(spooled, testID(1))
	refused(spooled, err, path)
	err = spooled.FoldDead(t.Context())
	refused(spooled, err, path)
	if !exists(t, path) {
		t.Error("a newer spool is gone")
	}
	key, _ := testID(1).Bytes()
	change := func(f func(m *month) error) {
		t.Helper()
		if err := s.update(t.Context(), s.monthPath(key), f); err != nil {
			t.Fatal(err)
		}
	}
	change(func(m *month) error {
		v := append([]byte(nil), m.ev.Get(append(key[:], 0, 0, 0, 0, 0, 0, 0, 1))...)
		v[4]++
		k := chunkKey(key, 1)
		binary.LittleEndian.PutUint32(v[64:], chunkSum(k, v))
		return m.ev.Put(k[:], v)
	})
	_, err = readAll(s, testID(1))
	refused(s, err, s.monthPath(key))
	change(func(m *month) error {
		v := append([]byte(nil), m.meta.Get(key[:])...)
		v[4]++
		binary.LittleEndian.PutUint32(v, metaSum(key, v))
		return m.meta.Put(key[:], v)
	})
	_, err = readAll(s, testID(1))
	refused(s, err, s.monthPath(key))
	change(func(m *month) error { return m.head.Put(keyHead, []byte{monthVersion + 1}) })
	_, err = readAll(s, testID(1))
	refused(s, err, s.monthPath(key))
	for _, err := range s.Sessions(t.Context(), store.Query{}) {
		refused(s, err, s.monthPath(key))
	}
}
