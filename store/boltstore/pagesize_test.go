package boltstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/mcprec/mcprec/store"
)

// onOtherMachine rewrites a database as a machine with other pages would have written it.
func onOtherMachine(t *testing.T, path string, pageSize int) {
	t.Helper()
	other := filepath.Join(t.TempDir(), "other.db")
	from, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	to, err := bolt.Open(other, 0o600, &bolt.Options{PageSize: pageSize})
	if err != nil {
		t.Fatal(err)
	}
	err = from.View(func(old *bolt.Tx) error {
		return to.Update(func(tx *bolt.Tx) error {
			return old.ForEach(func(name []byte, b *bolt.Bucket) error {
				copied, err := tx.CreateBucket(name)
				if err != nil {
					return err
				}
				return b.ForEach(copied.Put)
			})
		})
	})
	err = errors.Join(err, to.Update(func(*bolt.Tx) error { return nil })) // so that both meta pages know the sessions
	if err := errors.Join(err, from.Close(), to.Close(), os.Rename(other, path)); err != nil {
		t.Fatal(err)
	}
}

// TestOtherPageSize: a store may be copied between machines with pages of different sizes. Both
// meta pages are found there, and a damaged one is repaired.
func TestOtherPageSize(t *testing.T) {
	for _, size := range []int{1 << 10, 4 << 10, 16 << 10, 64 << 10} {
		for _, bad := range []int{-1, 0, 1} { // the damaged meta page
			t.Run(fmt.Sprintf("%d/%d", size, bad), func(t *testing.T) {
				ctx := context.Background()
				s := testStore(t, t.TempDir())
				logs := [][]store.Event{testLog(1, 9, 3000, true), testLog(2, 5, 40, true)}
				for _, log := range logs[:1] {
					if _, err := s.Append(ctx, testID(1), 0, log); err != nil {
						t.Fatal(err)
					}
				}
				key, _ := testID(1).Bytes()
				path := s.databasePath(key)
				onOtherMachine(t, path, size)
				if bad >= 0 {
					flipBit(t, path, int64(bad*size+pageHead)*8)
					mustRead(t, s, testID(1), logs[0])
					if _, err := s.Append(ctx, testID(2), 0, logs[1]); !errors.Is(err, store.ErrCorrupt) {
						t.Errorf("append beside a damaged meta page: %v", err)
					}
					var found []store.Repaired
					if err := s.Repair(ctx, false, func(r store.Repaired) { found = append(found, r) }); err != nil {
						t.Fatal(err)
					}
					if len(found) != 1 || found[0].Lost() {
						t.Errorf("repair reports %+v, want one database without a loss", found)
					}
				}
				if _, err := s.Append(ctx, testID(2), 0, logs[1]); err != nil {
					t.Fatal(err)
				}
				for i, log := range logs {
					mustRead(t, s, testID(i+1), log)
				}
				mustVerify(t, s)
			})
		}
	}
}
