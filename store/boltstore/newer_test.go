package boltstore

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
)

// refused holds that an error names a newer file and what to do.
func refused(t *testing.T, err error, path string) {
	t.Helper()
	if !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "install a newer mcprec") {
		t.Errorf("read: %v", err)
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
	refused(t, err, path)
	mustFoldDead(t, spooled)
	if !exists(t, path) {
		t.Error("a newer spool is gone")
	}
	for _, dry := range []bool{true, false} {
		err := spooled.Repair(t.Context(), dry, func(r store.Repaired) { t.Errorf("repaired %+v", r) })
		refused(t, err, path)
	}
	newerDatabase(t, s)
}

// newerDatabase makes a chunk, the facts and then the head of a database newer.
func newerDatabase(t *testing.T, s *Store) {
	t.Helper()
	key, _ := testID(1).Bytes()
	change := func(f func(tx *dbTx) error) {
		t.Helper()
		if err := s.update(t.Context(), s.databasePath(key), f); err != nil {
			t.Fatal(err)
		}
	}
	change(func(tx *dbTx) error {
		v := append([]byte(nil), tx.ev.Get(append(key[:], 0, 0, 0, 0, 0, 0, 0, 1))...)
		v[4]++
		k := chunkKey(key, 1)
		binary.LittleEndian.PutUint32(v, chunkSum(k, v))
		return tx.ev.Put(k[:], v)
	})
	_, err := readAll(s, testID(1))
	refused(t, err, s.databasePath(key))
	change(func(tx *dbTx) error {
		v := append([]byte(nil), tx.meta.Get(key[:])...)
		v[4]++
		binary.LittleEndian.PutUint32(v, metaSum(key, v))
		return tx.meta.Put(key[:], v)
	})
	_, err = readAll(s, testID(1))
	refused(t, err, s.databasePath(key))
	change(func(tx *dbTx) error { return tx.head.Put(keyHead, []byte{databaseVersion + 1}) })
	_, err = readAll(s, testID(1))
	refused(t, err, s.databasePath(key))
	for _, err := range s.Sessions(t.Context(), store.Query{}) {
		refused(t, err, s.databasePath(key))
	}
}
