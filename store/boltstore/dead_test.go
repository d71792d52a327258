package boltstore

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/chunk"
	"github.com/mcprec/mcprec/store/storetest"
)

// TestTornTail cuts a dead spool at every byte of its last records: what is
// before them is the session, at once and after the fold.
func TestTornTail(t *testing.T) {
	live := testStore(t, t.TempDir())
	events := testLog(1, 6, 60, true)
	p := startSpool(t, live, events[:4])
	before := p.(*spool).good
	err := p.Write(asParts(events[4:5]))
	last := p.(*spool).good
	if err = errors.Join(err, p.Write(asParts(events[5:]))); err != nil {
		t.Fatal(err)
	}
	s := died(t, live)
	whole, err := os.ReadFile(s.spoolPath(testID(1)))
	if err != nil {
		t.Fatal(err)
	}
	defer storetest.Tell(t, "the last writes of a spool cut at each byte", 2*(len(whole)-int(before)+1), "all before them is the session, at once and folded")
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
			if _, err := s.makeFolders(); err != nil {
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

// TestTornChunk cuts a chunk and a projection at every byte: no part of one is
// taken for one.
func TestTornChunk(t *testing.T) {
	key, _ := testID(1).Bytes()
	c, p := &chunker{id: key}, projection{}
	if err := c.take(&p, testLog(1, 20, 300, true)); err != nil {
		t.Fatal(err)
	}
	whole, facts := c.done[0].data, p.encode(key)
	for n := range whole {
		if events, err := chunk.Decode(key, 1, whole[:n]); len(events) > 0 || !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("cut at %d: %d events, %v", n, len(events), err)
		}
	}
	for n := range facts {
		if _, err := decodeProjection(key, facts[:n], "file"); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("facts cut at %d: %v", n, err)
		}
	}
	storetest.Tell(t, "a chunk and a session's facts cut at each byte", len(whole)+len(facts), "refused as damaged")
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
		check := func() { t.Helper(); checkLost(t, s, events[:10], int64(len(b))-at) }
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

// checkLost holds that session 1 is the events before the damage, and one that
// says what is lost.
func checkLost(t *testing.T, s *Store, before []store.Event, rest int64) {
	t.Helper()
	got, err := readAll(s, testID(1))
	if err != nil || len(got) != len(before)+1 {
		t.Fatalf("%d events, %v", len(got), err)
	}
	last := got[len(before)]
	if err := sameLog(got[:len(before)], before); err != nil {
		t.Fatal(err)
	}
	info, err := store.DecodePayload[store.LostInfo](last)
	if last.Kind != store.Lost || err != nil || info.Bytes != uint64(rest) || info.Frames != 10 {
		t.Fatalf("lost %+v, %v", info, err)
	}
	if x := one(t, s, testID(1)); x.State != store.Crashed || x.Lost != 10 {
		t.Fatalf("listed %+v", x)
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
		if err := s.FoldDead(t.Context()); err == nil && !newer { // that of a newer version is left to it
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
