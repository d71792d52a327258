package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// TestFoldTwice holds that a fold that is repeated, because its spool was not
// removed or comes back, changes nothing.
func TestFoldTwice(t *testing.T) {
	live := testStore(t, t.TempDir())
	events := testLog(1, 50, 3000, true)
	p := startSpool(t, live, events[:30])
	ctx, key := context.Background(), p.(*spool).key
	for range 3 {
		if _, err := live.fold(ctx, testID(1), key, foldLimit{}); err != nil {
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
	deletedComesBack(t, s, log)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// deletedComesBack is the crash between a deletion and the spool's removal.
func deletedComesBack(t *testing.T, s *Store, log []byte) {
	t.Helper()
	if err := s.Delete(t.Context(), testID(1)); err != nil {
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
}

// TestFoldInterleaved folds after every record of long frames of two
// directions, so that each place where a fold may stop is used.
func TestFoldInterleaved(t *testing.T) {
	records, want := interleaved(t)
	s := testStore(t, t.TempDir())
	p := startSpool(t, s, []store.Event{opening(1)})
	for _, r := range records {
		if err := p.Write([]store.Part{r}); err != nil {
			t.Fatal(err)
		}
		foldInPlace(t, s, p.(*spool).key)
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

// interleaved returns the parts of such frames and the events that they make.
func interleaved(t *testing.T) (records []store.Part, want []store.Event) {
	t.Helper()
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
		if err := a.Add(p, 0); err != nil {
			t.Fatal(err)
		}
	}
	a.Cut()
	want = []store.Event{opening(1)}
	for e, ok := a.Next(); ok; e, ok = a.Next() {
		want = append(want, e)
	}
	return records, want
}

// foldInPlace folds what there is; nothing of it changes for readers.
func foldInPlace(t *testing.T, s *Store, key [16]byte) {
	t.Helper()
	before, err := readAll(s, testID(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.fold(t.Context(), testID(1), key, foldLimit{}); err != nil {
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
	s, err := Open(t.TempDir(), Options{FoldBudget: 1, CloseBudget: 1, Patience: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	events := testLog(1, 13, 300<<10, true)
	p := startSpool(t, s, events)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if !exists(t, s.spoolPath(testID(1))) {
		t.Fatal("folded beyond the budget")
	}
	rounds := 0
	for ; exists(t, s.spoolPath(testID(1))); rounds++ {
		mustRead(t, s, testID(1), events)
		if one(t, s, testID(1)).Head.Seq != 13 || one(t, s, testID(1)).State != store.Ended {
			t.Fatal("listed short")
		}
		if err := s.foldDead(t.Context(), testID(1), time.Now().Add(-1)); err != nil {
			t.Fatal(err)
		}
	}
	if rounds < 3 {
		t.Errorf("folded in %d calls", rounds)
	}
	mustRead(t, s, testID(1), events)
	mustVerify(t, s)
}

// TestCloseLeavesMuch holds that a close leaves a large rest, and one whose
// database is in use, to the next command.
func TestCloseLeavesMuch(t *testing.T) {
	s := testStore(t, t.TempDir())
	much, little := testLog(1, 20, 300<<10, true), testLog(2, 5, 100, true)
	p := startSpool(t, s, much)
	if err := p.Close(); err != nil || !exists(t, s.spoolPath(testID(1))) {
		t.Errorf("close of 6 MB: %v, or folded", err)
	}
	mustFoldDead(t, s)
	mustRead(t, s, testID(1), much)
	p = startSpool(t, s, little)
	key := p.(*spool).key
	err := s.update(t.Context(), s.databasePath(key), func(*dbTx) error {
		if err := p.Close(); err != nil || !exists(t, s.spoolPath(testID(2))) {
			t.Errorf("close while the database is in use: %v, or folded", err)
		}
		var err error
		p, err = s.Spool(t.Context(), opening(3)) // waits for nobody either
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	mustFoldDead(t, s)
	mustRead(t, s, testID(2), little)
	if err := p.Close(); err != nil || exists(t, s.spoolPath(testID(2))) {
		t.Errorf("close: %v; or a spool is left", err)
	}
}

// TestFoldMasked holds that a session whose header asks for it comes into the database
// masked, in each fold and by repair, by the rules of the spool's header; and that a program
// without a mask leaves its spool.
// TestFoldMaskedInOrder holds that each mask sees the events from the first on, without a gap, although a session is
// folded in parts by several processes: a secret may stand in several events.
func TestFoldMaskedInOrder(t *testing.T) {
	h := store.Header{ID: testID(1), Start: testStart(1), Transport: "stdio", Command: []string{"x"}, Masked: &store.MaskRules{}}
	events := testLog(1, 40, 80, true)
	events[0].Payload = h.Encode()
	made := 0
	folder := t.TempDir()
	open := func() *Store {
		s := testStore(t, folder)
		s.opts.Mask = func([]byte, store.Header) (func(store.Event) store.Event, error) {
			made++
			seen := uint64(0)
			return func(e store.Event) store.Event {
				if seen++; e.Seq != seen {
					t.Errorf("a mask sees event %d as its %d.", e.Seq, seen)
				}
				return e
			}, nil
		}
		return s
	}
	s := open()
	p := startSpool(t, s, events[:10])
	fold := func(s *Store) {
		t.Helper()
		if _, err := s.fold(t.Context(), testID(1), p.(*spool).key, foldLimit{}); err != nil {
			t.Fatal(err)
		}
	}
	fold(s)
	for k := 1; k < 3; k++ { // the same process goes on
		if err := p.Write(asParts(events[10*k : 10*k+10])); err != nil {
			t.Fatal(err)
		}
		fold(s)
	}
	if made != 1 {
		t.Errorf("%d masks were made by one process", made)
	}
	if err := p.Write(asParts(events[30:])); err != nil {
		t.Fatal(err)
	}
	fold(open()) // another process goes on
	if got, err := readAll(s, testID(1)); err != nil || len(got) != 40 || made != 2 {
		t.Errorf("%d events, %v, by %d masks", len(got), err, made)
	}
}

func TestFoldMasked(t *testing.T) {
	h := store.Header{ID: testID(1), Start: testStart(1), Transport: "stdio", Command: []string{"hunter2"}, Masked: &store.MaskRules{Keys: []string{"k"}}}
	events := testLog(1, 20, 80, true)
	events[0].Payload = h.Encode()
	for i := range 18 {
		events[i+1].Payload = []byte(`{"id":1,"result":"hunter2"}`)
	}
	live := testStore(t, t.TempDir())
	p := startSpool(t, live, events[:10])
	at := p.(*spool).good
	if err := p.Write(asParts(events[10:])); err != nil {
		t.Fatal(err)
	}
	spooled, damaged := died(t, live), died(t, live)
	mask := func(s *Store) {
		s.opts.Mask = func(key []byte, h store.Header) (func(store.Event) store.Event, error) {
			if len(key) != keySize || len(h.Masked.Keys) != 1 {
				return nil, fmt.Errorf("key %x, rules %+v", key, h.Masked)
			}
			return func(e store.Event) store.Event {
				e.Payload = bytes.ReplaceAll(e.Payload, []byte(h.Command[0]), []byte("[masked]"))
				return e
			}, nil
		}
	}
	masked := func(s *Store, n int) {
		t.Helper()
		got, err := readAll(s, testID(1))
		if err != nil || len(got) != n || exists(t, s.spoolPath(testID(1))) {
			t.Errorf("%d events, %v", len(got), err)
		}
		for _, e := range got {
			if bytes.Contains(e.Payload, []byte("hunter2")) {
				t.Errorf("event %d is %s", e.Seq, e.Payload)
			}
		}
		if x := one(t, s, testID(1)); x.Masked == nil || strings.Join(x.Command, "") != "[masked]" {
			t.Errorf("listed %+v", x)
		}
		mustVerify(t, s)
	}
	mask(live)
	if _, err := live.fold(t.Context(), testID(1), p.(*spool).key, foldLimit{}); err != nil {
		t.Fatal(err)
	}
	inPart := died(t, live)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	masked(live, 20)
	for _, s := range []*Store{spooled, inPart} {
		mustFoldDead(t, s)
		if !exists(t, s.spoolPath(testID(1))) {
			t.Error("a spool that cannot be masked is gone")
		}
		mask(s)
		mustFoldDead(t, s)
		masked(s, 20)
	}
	path := damaged.spoolPath(testID(1))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[at+9] ^= 4
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	mask(damaged)
	if err := damaged.FoldDead(t.Context()); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("fold of the damaged one: %v", err)
	}
	if err := damaged.Repair(t.Context(), false, func(store.Repaired) {}); err != nil {
		t.Fatal(err)
	}
	masked(damaged, 20)
}
