package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
)

// closedDisk exchanges files as Windows does: none that this process has open or mapped.
type closedDisk struct{ osDisk }

func (d closedDisk) rename(from, to string, replace bool) error {
	for _, name := range []string{from, to} {
		if held := openHere(name); replace && held != "" {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: fmt.Errorf("sharing violation: %s", held)}
		}
	}
	return d.osDisk.rename(from, to, replace)
}

// openHere says how this process holds a file, or "".
func openHere(name string) string {
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == name {
			return name + " is open"
		}
	}
	if maps, err := os.ReadFile("/proc/self/maps"); err != nil || strings.Contains(string(maps), name+"\n") {
		return name + " is mapped"
	}
	return ""
}

// asOnWindows makes a store exchange only closed files.
func asOnWindows(s *Store) *Store {
	s.replaceNeedsClosed = true
	s.disk.fileSystem = closedDisk{}
	return s
}

// TestExchangeClosed: where an open file cannot be exchanged, a database is compacted while nobody
// has it open, and stays as it was if somebody has, or has written to it.
func TestExchangeClosed(t *testing.T) {
	s, logs := filled(t, 40, 30, 4000)
	asOnWindows(s)
	var ids []store.SessionID
	for i := range 38 {
		ids = append(ids, testID(i+1))
	}
	if err := s.DeleteAll(t.Context(), ids, func(store.SessionID) {}); err != nil {
		t.Fatal(err)
	}

	release, err := s.holdNames(t.Context(), false) // as a reader in another process
	if err != nil {
		t.Fatal(err)
	}
	patience := s.patience
	s.patience = 0
	if err := s.Compact(t.Context(), 0, func(c store.Compacted) { t.Errorf("compacted while it is read: %+v", c) }); !errors.Is(err, store.ErrBusy) {
		t.Errorf("compacted while it is read: %v", err)
	}
	release()
	s.patience = patience

	key, err := testID(1).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&compaction{Store: s}).exchangeClosed(t.Context(), "", s.databasePath(key), [2]metaBytes{}, 0); !errors.Is(err, errWrittenMeanwhile) {
		t.Errorf("exchanged a file that was written to: %v", err)
	}
	if before, after := mustCompact(t, s); after > before/4 {
		t.Errorf("compacted from %d to %d bytes", before, after)
	}
	for i := 38; i < 40; i++ {
		mustRead(t, s, testID(i+1), logs[testID(i+1)])
	}
	mustVerify(t, s)
}

// TestRepairClosed: there, a damaged database is repaired by the process that has found the damage,
// although bbolt panics on some of it.
func TestRepairClosed(t *testing.T) {
	s, path, whole := damageStore(t)
	asOnWindows(s)
	logs := damageLogs()
	r := rand.New(rand.NewPCG(3, 4))
	for range rounds(3) {
		harmed := bytes.Clone(whole)
		for range 8 {
			harmed[r.IntN(len(harmed))] ^= 1 << r.IntN(8)
		}
		if err := os.WriteFile(path, harmed, 0o600); err != nil {
			t.Fatal(err)
		}
		err := s.Repair(t.Context(), true, func(store.Repaired) {})
		if errors.Is(err, store.ErrNewer) { // a bit of the version: what a newer mcprec wrote is left alone
			continue
		}
		repaired(t, s, logs)
	}
}
