package boltstore

import (
	"context"
	"fmt"
	"os"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/mcprec/mcprec/store"
)

// summarized returns a store of n sessions with summaries, and the path of its database.
func summarized(t *testing.T, n int) (s *Store, path string) {
	t.Helper()
	s = testStore(t, t.TempDir())
	var list []store.Summary
	for i := range n {
		head, err := s.Append(context.Background(), testID(i), 0, testLog(i, 4, 9000, true))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, store.Summary{ID: testID(i), Head: head, Data: fmt.Appendf(nil, "summary %d", i)})
	}
	if err := s.KeepSummaries(context.Background(), list); err != nil {
		t.Fatal(err)
	}
	key, _ := testID(0).Bytes()
	return s, s.databasePath(key)
}

// wantSummaries compares the summaries of a store with those of summarized.
func wantSummaries(t *testing.T, s *Store, n int) {
	t.Helper()
	var sessions []store.Session
	for x, err := range s.Sessions(context.Background(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, x)
	}
	kept, err := s.Summaries(context.Background(), sessions)
	if err != nil || len(kept) != n {
		t.Errorf("%d summaries, %v; want %d", len(kept), err, n)
	}
	for i := range 50 {
		if text, ok := kept[testID(i)]; ok && string(text) != fmt.Sprintf("summary %d", i) {
			t.Errorf("session %d has %q", i, text)
		}
	}
}

// TestSummariesFollow: a summary goes where its session goes, and a repaired database has none.
func TestSummariesFollow(t *testing.T) {
	s, path := summarized(t, 20)
	wantSummaries(t, s, 20)
	var ids []store.SessionID
	for i := 5; i < 20; i++ {
		ids = append(ids, testID(i))
	}
	if err := s.DeleteAll(context.Background(), ids, func(store.SessionID) {}); err != nil {
		t.Fatal(err)
	}
	left := 0
	err := s.view(context.Background(), path, func(tx *dbTx) error {
		return tx.boltTx.Bucket(bucketSummary).ForEach(func(_, _ []byte) error { left++; return nil })
	})
	if err != nil || left != 5 {
		t.Errorf("%d summaries of 5 sessions are left, %v", left, err)
	}
	before, err := s.Usage(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	smaller := false
	if err := s.Compact(context.Background(), 0, func(c store.Compacted) { smaller = c.After < c.Before }); err != nil || !smaller {
		t.Fatalf("compact: smaller %t, %v", smaller, err)
	}
	wantSummaries(t, s, 5)
	if after, err := s.Usage(context.Background()); err != nil || after.Stored[testID(1)] != before.Stored[testID(1)] {
		t.Errorf("a session takes %d bytes, and %d before it was compacted; %v", after.Stored[testID(1)], before.Stored[testID(1)], err)
	}
	mustVerify(t, s)
	flipBit(t, path, int64(os.Getpagesize()+pageHead)*8)
	if err := s.Repair(context.Background(), false, func(store.Repaired) {}); err != nil {
		t.Fatal(err)
	}
	wantSummaries(t, s, 0)
	mustVerify(t, s)
}

// TestDamagedSummary: a summary with a flipped bit is none, and its session is as it was.
func TestDamagedSummary(t *testing.T) {
	s, path := summarized(t, 3)
	err := s.update(context.Background(), path, func(tx *dbTx) error {
		b := tx.boltTx.Bucket(bucketSummary)
		key, _ := testID(1).Bytes()
		value := append([]byte(nil), b.Get(key[:])...)
		value[7] ^= 4
		return b.Put(key[:], value)
	})
	if err != nil {
		t.Fatal(err)
	}
	wantSummaries(t, s, 2)
	mustRead(t, s, testID(1), testLog(1, 4, 9000, true))
	mustVerify(t, s)
}

// TestNoSummaries: a database in which no summary was kept has no bucket for them.
func TestNoSummaries(t *testing.T) {
	s, path := summarized(t, 3)
	err := s.withDB(context.Background(), path, bolt.Options{}, func(db *bolt.DB, _ *os.File) error {
		return db.Update(func(tx *bolt.Tx) error { return tx.DeleteBucket(bucketSummary) })
	})
	if err != nil {
		t.Fatal(err)
	}
	wantSummaries(t, s, 0)
	if err := s.Delete(context.Background(), testID(1)); err != nil {
		t.Fatal(err)
	}
	mustVerify(t, s)
}
