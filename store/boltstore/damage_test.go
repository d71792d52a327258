package boltstore

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcprec/mcprec/store"
)

// damageLogs are the sessions of a store that is then damaged.
func damageLogs() [][]store.Event {
	var logs [][]store.Event
	for i := range 60 {
		logs = append(logs, testLog(i, 3+i%7, 200+i*40, i%2 == 0))
	}
	return append(logs, testLog(60, 200, 4000, true))
}

// damaged gives f a store, built once, whose database was damaged by harm.
func damaged(t *testing.T, rounds int, harm func(r *rand.Rand, b []byte), f func(s *Store)) {
	clean := testStore(t, t.TempDir())
	for i, events := range damageLogs() {
		if _, err := clean.Append(t.Context(), testID(i), 0, events); err != nil {
			t.Fatal(err)
		}
	}
	key, _ := testID(0).Bytes()
	whole, err := os.ReadFile(clean.monthPath(key))
	if err != nil {
		t.Fatal(err)
	}
	whole = bytes.TrimRight(whole, "\x00")
	whole = append(whole, make([]byte, (4096-len(whole)%4096)%4096)...)
	s := testStore(t, t.TempDir())
	if err := s.makeDirs(); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		b := bytes.Clone(whole)
		harm(r, b)
		if err := os.WriteFile(s.monthPath(key), b, 0o600); err != nil {
			t.Fatal(err)
		}
		f(s)
	}
}

// survive uses a damaged store in every way. Nothing may panic, and what it
// hands out without an error must be right.
func survive(t *testing.T, s *Store, logs [][]store.Event) {
	t.Helper()
	n, faults := 0, 0
	for x, err := range s.Sessions(t.Context(), store.Query{}) {
		if err != nil {
			faults++
			continue
		}
		n++
		i := int(x.Start.Sub(testStart(0)).Seconds())
		if i < 0 || i >= len(logs) || x.ID != testID(i) || x.Head.Seq != uint64(len(logs[i])) || x.Label != "everything" {
			t.Fatalf("listed wrong: %+v", x)
		}
	}
	if n != len(logs) && faults == 0 {
		t.Fatalf("%d of %d sessions listed and no error", n, len(logs))
	}
	for i, events := range logs {
		got, err := readAll(s, testID(i))
		if err == nil {
			err = sameLog(got, events)
			if err != nil {
				t.Fatalf("session %d: wrong and no error: %v", i, err)
			}
			continue
		}
		if errors.Is(err, store.ErrNotFound) {
			t.Fatalf("session %d: not found in a damaged store: %v", i, err)
		}
		if len(got) > len(events) || sameLog(got, events[:len(got)]) != nil {
			t.Fatalf("session %d: wrong before the error %v", i, err)
		}
	}
	if err := s.Verify(t.Context(), func(error) {}); err != nil {
		t.Fatalf("verify: %v", err)
	}
	// Writing may fail, but not the process.
	_, _ = s.Append(t.Context(), testID(70), 0, testLog(70, 3, 100, true))
	_ = s.Delete(t.Context(), testID(3))
}

func TestBitFlips(t *testing.T) {
	logs := damageLogs()
	rounds := 150
	if testing.Short() || raceEnabled {
		rounds = 30
	}
	damaged(t, rounds, func(r *rand.Rand, b []byte) {
		at := r.IntN(len(b) * 8)
		if r.IntN(3) > 0 { // where the tree is, not the chunks
			at = r.IntN(len(b)/4096)*4096*8 + r.IntN(256*8)
		}
		b[at/8] ^= 1 << (at % 8)
	}, func(s *Store) { survive(t, s, logs) })
}

func TestZeroedPages(t *testing.T) {
	logs := damageLogs()
	rounds := 100
	if testing.Short() || raceEnabled {
		rounds = 20
	}
	damaged(t, rounds, func(r *rand.Rand, b []byte) {
		at := r.IntN(len(b)/4096) * 4096
		clear(b[at : at+4096])
	}, func(s *Store) { survive(t, s, logs) })
}

func TestTruncatedDatabase(t *testing.T) {
	logs := damageLogs()
	s := testStore(t, t.TempDir())
	for i, events := range logs {
		if _, err := s.Append(t.Context(), testID(i), 0, events); err != nil {
			t.Fatal(err)
		}
	}
	key, _ := testID(0).Bytes()
	whole, err := os.ReadFile(s.monthPath(key))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 4096, 8192, 12288, 20000, 1 << 17} {
		if err := os.WriteFile(s.monthPath(key), whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readAll(s, testID(60))
		if !errors.Is(err, store.ErrCorrupt) && sameLog(got, logs[60]) != nil {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
}

// TestDamagedMonth holds that a recording goes on, and other months are read,
// while one month's database is damaged.
func TestDamagedMonth(t *testing.T) {
	s := testStore(t, t.TempDir())
	if _, err := s.Append(t.Context(), testID(40<<16), 0, testLog(40<<16, 3, 100, true)); err != nil {
		t.Fatal(err)
	}
	key, _ := testID(1).Bytes()
	if err := os.WriteFile(s.monthPath(key), bytes.Repeat([]byte("x"), 1<<16), 0o600); err != nil {
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
	if err := os.Remove(s.monthPath(key)); err != nil {
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
