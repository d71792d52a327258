package boltstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
)

// listed returns the ids that a store lists, and its faults.
func listed(t *testing.T, s *Store) (ids []store.SessionID, faults []string) {
	t.Helper()
	for x, err := range s.Sessions(t.Context(), store.Query{}) {
		if err != nil {
			faults = append(faults, err.Error())
		} else {
			ids = append(ids, x.ID)
		}
	}
	return ids, faults
}

// TestForeignDatabases holds that what is none of the store's databases is said, with what
// to do, and left alone: nothing of it is listed, and the rest goes on.
func TestForeignDatabases(t *testing.T) {
	for _, c := range []struct {
		name, say string
		make      func(from, dir string) (path string, err error)
	}{
		{"a copy", "is left alone", func(from, dir string) (string, error) {
			path := filepath.Join(dir, "copy.db")
			return path, copyFile(from, path)
		}},
		{"a copy of another month", "sessions of other months: 1", func(from, dir string) (string, error) {
			path := filepath.Join(dir, "202510.db")
			return path, copyFile(from, path)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := testStore(t, t.TempDir())
			p := startSpool(t, s, testLog(1, 5, 100, true))
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			path, err := c.make(filepath.Join(s.storeDir(), "202611.db"), s.storeDir())
			if err != nil {
				t.Fatal(err)
			}
			said := func(what string, faults ...string) { t.Helper(); saidOnce(t, what, faults, c.say, path) }
			ids, faults := listed(t, s)
			if said("list", faults...); len(ids) != 1 {
				t.Errorf("listed %v", ids)
			}
			faults = nil
			if err := s.Verify(t.Context(), func(err error) { faults = append(faults, err.Error()) }); err != nil {
				t.Error(err)
			}
			said("verify", faults...)
			err = s.Repair(t.Context(), false, func(r store.Repaired) { t.Errorf("repaired %+v", r) })
			said("repair", errorText(err))
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
			mustRead(t, s, testID(1), testLog(1, 5, 100, true))
		})
	}
}

func saidOnce(t *testing.T, what string, faults []string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if len(faults) != 1 || !strings.Contains(faults[0], text) {
			t.Errorf("%s says %q", what, faults)
		}
	}
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestForeignSpool holds that a spool under another session's name is left alone.
func TestForeignSpool(t *testing.T) {
	s := testStore(t, t.TempDir())
	p := startSpool(t, s, testLog(1, 5, 100, false))
	foreign := s.spoolPath(testID(2))
	if err := copyFile(s.spoolPath(testID(1)), foreign); err != nil {
		t.Fatal(err)
	}
	mustFoldDead(t, s)
	var faults []error
	if err := s.Verify(t.Context(), func(err error) { faults = append(faults, err) }); err != nil {
		t.Error(err)
	}
	if len(faults) != 1 || errors.Is(faults[0], store.ErrCorrupt) || !strings.Contains(faults[0].Error(), "that of session "+string(testID(1))) {
		t.Errorf("verify says %v", faults)
	}
	if ids, said := listed(t, s); len(ids) != 1 || len(said) != 1 {
		t.Errorf("listed %v, %q", ids, said)
	}
	if !exists(t, foreign) {
		t.Error("it is not there any more")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestKilledRepair holds that what a repair left that was killed goes with the next.
func TestKilledRepair(t *testing.T) {
	for name, next := range map[string]func(*Store) error{
		"repair":  func(s *Store) error { return s.Repair(context.Background(), false, func(store.Repaired) {}) },
		"compact": func(s *Store) error { return s.Compact(context.Background(), 0, func(store.Compacted) {}) },
	} {
		s := testStore(t, t.TempDir())
		if err := startSpool(t, s, testLog(1, 5, 100, true)).Close(); err != nil {
			t.Fatal(err)
		}
		left := filepath.Join(s.storeDir(), "202611.db.repair.new-123")
		if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := next(s); err != nil || exists(t, left) {
			t.Errorf("%s: %v, still there: %t", name, err, exists(t, left))
		}
	}
}

// TestUpperCaseID holds that the id in a header may be in upper case, as RFC 9562 allows.
func TestUpperCaseID(t *testing.T) {
	upper := func(e store.Event) store.Event {
		h, _ := store.ParseHeader(e.Payload)
		h.ID = store.SessionID(strings.ToUpper(string(h.ID)))
		e.Payload = h.Encode()
		return e
	}
	log := testLog(0xabcdef, 4, 50, true)
	log[0] = upper(log[0])
	for _, live := range []bool{false, true} {
		s := testStore(t, t.TempDir())
		if live {
			p := startSpool(t, s, log)
			if got := one(t, s, testID(0xabcdef)); got.ID != testID(0xabcdef) {
				t.Errorf("listed %+v", got)
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		} else if _, err := s.Append(t.Context(), testID(0xabcdef), 0, log); err != nil {
			t.Fatal(err)
		}
		mustRead(t, s, testID(0xabcdef), log)
		mustVerify(t, s)
		if got := one(t, s, testID(0xabcdef)); got.ID != testID(0xabcdef) {
			t.Errorf("listed %+v", got)
		}
	}
}
