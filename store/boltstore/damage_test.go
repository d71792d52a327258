package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
)

// damageLogs are the sessions of a store that is then damaged.
func damageLogs() [][]store.Event {
	var logs [][]store.Event
	for i := range 400 {
		logs = append(logs, testLog(i, 3+i%5, 100+i%60*10, i%2 == 0))
	}
	return append(logs, testLog(400, 200, 4000, true), testLog(401, 3, 150<<10, true), testLog(402, 3, 150<<10, true))
}

// damageStore returns a store with the sessions of damageLogs, and the bytes of
// its database that are in use.
func damageStore(t testing.TB) (s *Store, path string, used []byte) {
	t.Helper()
	s = testStore(t, memDir(t))
	key, _ := testID(0).Bytes()
	path = s.databasePath(key)
	if err := s.update(t.Context(), path, func(tx *dbTx) error {
		for i, events := range damageLogs() {
			var p projection
			key, _ := testID(i).Bytes()
			c := &chunker{id: key}
			if err := errors.Join(c.take(&p, events), tx.putSession(key, c.done, &p)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	mustVerify(t, s)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tree := pageTree{file: bytes.NewReader(b)}
	if _, _, err := tree.meta(); err != nil {
		t.Fatal(err)
	}
	return s, path, b[:tree.pages*tree.pageSize]
}

// damaged has survive use a store whose database was damaged by harm.
func damaged(t *testing.T, fault string, rounds int, harm func(r *rand.Rand, b []byte)) {
	s, path, whole := damageStore(t)
	logs := damageLogs()
	r := rand.New(rand.NewPCG(1, 2))
	each := 8 // rounds for one repair, which takes longer
	if night {
		each, rounds = 4, 4*rounds
	}
	for round := range rounds {
		b := bytes.Clone(whole)
		harm(r, b)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		survive(t, s, logs)
		if round%each > 0 {
			continue
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		repaired(t, s, logs)
	}
	storetest.Tell(t, fault, rounds, "found by verify; nothing wrong handed out; repair saves every event that is whole and counts the others")
}

// repaired repairs a damaged store. After it all is well, every event is the one
// that was recorded or one that says that it is lost, and all that is missing
// was said. Where the end is unknown, a lost event at the end says that.
func repaired(t *testing.T, s *Store, logs [][]store.Event) {
	t.Helper()
	var all []store.Repaired
	for _, dry := range []bool{true, false} {
		found := len(all)
		if err := s.Repair(t.Context(), dry, func(r store.Repaired) { all = append(all, r) }); err != nil {
			t.Fatalf("repair: %v", err)
		}
		if !dry && len(all) != 2*found {
			t.Fatalf("repair did other than it said: %+v", all)
		}
	}
	mustVerify(t, s)
	missing, said := uint64(0), map[store.SessionID]store.Salvaged{}
	for _, r := range all[len(all)/2:] {
		for _, x := range r.Sessions {
			said[x.ID] = x
		}
	}
	for i, events := range logs {
		got, err := readAll(s, testID(i))
		if errors.Is(err, store.ErrNotFound) {
			missing++
			continue
		}
		if err != nil {
			t.Fatalf("session %d: %v", i, err)
		}
		lost := remaining(t, got, events)
		if x, ok := said[testID(i)]; ok && (x.Lost != lost || x.Saved != uint64(len(got))-lost) {
			t.Fatalf("session %d: %d events, %d lost, but %+v", i, len(got), lost, x)
		}
		open := said[testID(i)].Open && got[len(got)-1].Kind == store.Lost
		if lost > 0 && len(all) == 0 || len(got) != len(events) && !open {
			t.Fatalf("session %d: %d of %d, %d lost, and nothing said", i, len(got), len(events), lost)
		}
	}
	if missing > 0 && (len(all) == 0 || all[len(all)-1].Gone != missing && !all[len(all)-1].Unknown) {
		t.Fatalf("%d sessions are gone, said: %+v", missing, all)
	}
	kept, _ := filepath.Glob(filepath.Join(s.storeDir(), "*.damaged*"))
	for _, name := range kept {
		_ = os.Remove(name)
	}
}

// remaining holds what was saved against what was recorded, and counts the rest.
func remaining(t *testing.T, got, want []store.Event) (lost uint64) {
	t.Helper()
	for i, e := range got {
		switch {
		case i == len(want) && e.Kind == store.Lost: // all was saved, and nothing tells that it is all
			lost++
		case i >= len(want):
			t.Fatalf("event %d: %+v, want no more than %d", i+1, e, len(want))
		case e.Equal(want[i]):
		case e.Kind == store.Lost && want[i].Kind != store.Lost:
			lost++
		case i == 0 && e.Kind == store.Opened:
			lost++
		default:
			t.Fatalf("event %d: %+v, want %+v", i+1, e, want[i])
		}
	}
	return lost
}

// survive uses a damaged store in every way. Nothing may panic, what it hands
// out without an error must be right, and what a reader meets Verify names.
func survive(t *testing.T, s *Store, logs [][]store.Event) {
	t.Helper()
	faults := surviveList(t, s, logs)
	for i, events := range logs {
		got, err := readAll(s, testID(i))
		if err == nil {
			if err := sameLog(got, events); err != nil {
				t.Fatalf("session %d: wrong and no error: %v", i, err)
			}
			continue
		}
		faults = append(faults, err)
		if !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrNewer) {
			t.Fatalf("session %d: not called damaged: %v", i, err)
		}
		if len(got) > len(events) || sameLog(got, events[:len(got)]) != nil {
			t.Fatalf("session %d: wrong before the error %v", i, err)
		}
	}
	named := false
	if err := s.Verify(t.Context(), func(error) { named = true }); err != nil {
		t.Fatalf("verify: %v", err)
	}
	if len(faults) > 0 && !named {
		t.Fatalf("verify finds nothing, but: %v", faults[0])
	}
	// Writing may fail, but not the process.
	_, _ = s.Append(t.Context(), testID(500), 0, testLog(500, 3, 100, true))
	_ = s.Delete(t.Context(), testID(3))
}

func surviveList(t *testing.T, s *Store, logs [][]store.Event) (faults []error) {
	t.Helper()
	n := 0
	for x, err := range s.Sessions(t.Context(), store.Query{}) {
		if err != nil {
			faults = append(faults, err)
			continue
		}
		n++
		i := int(x.Start.Sub(testStart(0)).Seconds())
		if i < 0 || i >= len(logs) || x.ID != testID(i) || x.Head.Seq != uint64(len(logs[i])) || x.Label != "everything" {
			t.Fatalf("listed wrong: %+v", x)
		}
	}
	if n != len(logs) && len(faults) == 0 {
		t.Fatalf("%d of %d sessions listed and no error", n, len(logs))
	}
	return faults
}

// rounds is how often a store is damaged at random and repaired: a little, or much in make night.
func rounds(little int) int {
	if night {
		return 500
	}
	return little
}

// elements returns where the elements of the pages with given flags are.
func elements(b []byte, flags uint16) (at []int) {
	for page := 0; page < len(b); page += os.Getpagesize() {
		if binary.NativeEndian.Uint16(b[page+8:]) != flags || binary.NativeEndian.Uint64(b[page:]) != uint64(page/os.Getpagesize()) {
			continue
		}
		for i := range int(binary.NativeEndian.Uint16(b[page+10:])) {
			at = append(at, page+pageHead+i*16)
		}
	}
	return at
}

// TestBitFlips flips bits anywhere, in the heads of pages, in their elements,
// and in the keys of branches.
func TestBitFlips(t *testing.T) {
	var branches, leaves []int
	kind := 0
	damaged(t, "a bit flipped in the database", rounds(18), func(r *rand.Rand, b []byte) {
		if branches == nil {
			branches, leaves = elements(b, pageBranch), elements(b, pageLeaf)
			if len(branches) < 10 || len(leaves) < 400 {
				t.Fatalf("%d elements of branches, %d of leaves", len(branches), len(leaves))
			}
		}
		at := r.IntN(len(b))
		kind++ // of place, each in turn
		switch kind % 6 {
		case 0:
			at = r.IntN(len(b)/os.Getpagesize())*os.Getpagesize() + r.IntN(pageHead)
		case 1, 2:
			at = branches[r.IntN(len(branches))] + r.IntN(16)
		case 3:
			e := branches[r.IntN(len(branches))]
			at = e + int(binary.NativeEndian.Uint32(b[e:])) + r.IntN(int(binary.NativeEndian.Uint32(b[e+4:])))
		case 4:
			at = leaves[r.IntN(len(leaves))] + r.IntN(16)
		}
		b[at] ^= 1 << r.IntN(8)
	})
}

// TestLongPages makes each page say that it is thousands of millions of pages
// long, which bbolt would believe when it frees it.
func TestLongPages(t *testing.T) {
	at := 0
	damaged(t, "a page that says it is as long as the disk", min(rounds(8), 200), func(r *rand.Rand, b []byte) {
		if at == 0 { // where the list of free pages is
			tree := pageTree{file: bytes.NewReader(b)}
			_, free, err := tree.meta()
			if err != nil {
				t.Fatal(err)
			}
			at = int(free) * os.Getpagesize()
		} else {
			at = r.IntN(len(b)/os.Getpagesize()) * os.Getpagesize()
		}
		b[at+15] |= 0x80
	})
}

func TestZeroedPages(t *testing.T) {
	damaged(t, "a page of the database zeroed", rounds(8), func(r *rand.Rand, b []byte) {
		at := r.IntN(len(b)/4096) * 4096
		clear(b[at : at+4096])
	})
}

func TestTruncatedDatabase(t *testing.T) {
	want := damageLogs()[400]
	s, path, whole := damageStore(t)
	sizes := []int{0, 1, 4096, 8192, 12288, 20000, 1 << 17}
	for n := 1 << 14; night && n < len(whole); n += 1 << 14 {
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readAll(s, testID(400))
		if !errors.Is(err, store.ErrCorrupt) && sameLog(got, want) != nil {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
		if night || n == 1<<17 {
			repaired(t, s, damageLogs())
		}
	}
	storetest.Tell(t, "the database cut off at pages", len(sizes), "found by verify; repair saves every event before the cut")
}

// TestDamagedMonth holds that a recording goes on, and other months are read,
// while one month's database is damaged.
func TestDamagedMonth(t *testing.T) {
	s := testStore(t, t.TempDir())
	if _, err := s.Append(t.Context(), testID(40<<16), 0, testLog(40<<16, 3, 100, true)); err != nil {
		t.Fatal(err)
	}
	key, _ := testID(1).Bytes()
	if err := os.WriteFile(s.databasePath(key), bytes.Repeat([]byte("x"), 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	events := testLog(1, 10, 100, true)
	p := startSpool(t, s, events)
	mustRead(t, s, testID(1), events)
	if err := p.Close(); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("close: %v", err)
	}
	mustRead(t, s, testID(1), events)
	mustRead(t, s, testID(40<<16), testLog(40<<16, 3, 100, true))
	if err := os.Remove(s.databasePath(key)); err != nil {
		t.Fatal(err)
	}
	mustFoldDead(t, s)
	mustRead(t, s, testID(1), events)
	mustVerify(t, s)
}

// TestNothingMade holds that looking at a store that is not there makes
// nothing.
func TestNothingMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "absent")
	s := testStore(t, dir)
	for x, err := range s.Sessions(t.Context(), store.Query{}) {
		t.Errorf("listed %v, %v", x, err)
	}
	if _, err := readAll(s, testID(1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("read: %v", err)
	}
	if _, err := s.Head(t.Context(), testID(1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("head: %v", err)
	}
	if err := s.Delete(t.Context(), testID(1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("delete: %v", err)
	}
	mustFoldDead(t, s)
	mustVerify(t, s)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
}

// TestStale holds that nothing writes to a database that may have lost its newest
// transaction, which would hide that, and that repair finds what it held.
func TestStale(t *testing.T) {
	for page := range 2 {
		s := testStore(t, memDir(t))
		for i := range 3 {
			if _, err := s.Append(t.Context(), testID(i), 0, testLog(i, 20, 500, true)); err != nil {
				t.Fatal(err)
			}
		}
		key, _ := testID(0).Bytes()
		for bit := range 64 {
			flipBit(t, s.databasePath(key), int64(page*os.Getpagesize()+pageHead)*8+int64(bit))
		}
		if _, err := s.Append(t.Context(), testID(9), 0, testLog(9, 20, 500, true)); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("page %d: append: %v", page, err)
		}
		if err := s.Delete(t.Context(), testID(0)); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("page %d: delete: %v", page, err)
		}
		if _, err := readAll(s, testID(9)); !errors.Is(err, store.ErrCorrupt) { // it may have been in the lost transaction
			t.Errorf("page %d: read what is not there: %v", page, err)
		}
		var all []store.Repaired
		if err := s.Repair(t.Context(), false, func(r store.Repaired) { all = append(all, r) }); err != nil || len(all) != 1 || all[0].Lost() {
			t.Errorf("page %d: repair: %+v, %v", page, all, err)
		}
		for i := range 3 {
			mustRead(t, s, testID(i), testLog(i, 20, 500, true))
		}
		mustVerify(t, s)
	}
}
