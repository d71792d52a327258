package boltstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
)

// TestRelease removes sessions wherever they are, and no others.
func TestRelease(t *testing.T) {
	const id = 1
	log := testLog(id, 20, 300, true)
	folded := func(t *testing.T, s *Store) *Store {
		if err := startSpool(t, s, log).Close(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	spooled := func(t *testing.T, s *Store) *Store {
		p := startSpool(t, s, log)
		t.Cleanup(func() { _ = p.Close() })
		return died(t, s)
	}
	for name, c := range map[string]struct {
		prepare func(t *testing.T, s *Store) *Store
		err     error
		kept    string // the ending of a file that stays
	}{
		"folded":  {prepare: folded},
		"spooled": {prepare: spooled},
		"beside another": {prepare: func(t *testing.T, s *Store) *Store {
			folded(t, s)
			if _, err := s.Append(t.Context(), testID(id+1), 0, testLog(id+1, 5, 100, false)); err != nil {
				t.Fatal(err)
			}
			return s
		}},
		"not begun": {prepare: func(t *testing.T, s *Store) *Store {
			s = spooled(t, s)
			if err := os.Truncate(s.spoolPath(testID(id)), 10); err != nil {
				t.Fatal(err)
			}
			return s
		}},
		"absent": {prepare: func(_ *testing.T, s *Store) *Store { return s }, err: store.ErrNotFound},
		"live": {prepare: func(t *testing.T, s *Store) *Store {
			p := startSpool(t, s, log)
			t.Cleanup(func() { _ = p.Close() })
			return s
		}, err: store.ErrLive, kept: ".log"},
		"damaged": {prepare: func(t *testing.T, s *Store) *Store {
			s = spooled(t, s)
			flipBit(t, s.spoolPath(testID(id)), 8*1500)
			return s
		}, err: store.ErrCorrupt, kept: ".damaged"},
		"deleted": {prepare: func(t *testing.T, s *Store) *Store {
			folded(t, s)
			if err := s.Delete(t.Context(), testID(id)); err != nil {
				t.Fatal(err)
			}
			return s
		}, err: store.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.prepare(t, testStore(t, t.TempDir()))
			if err := s.Release(t.Context(), testID(id)); !errors.Is(err, c.err) {
				t.Errorf("release: %v, want %v", err, c.err)
			}
			left, err := filepath.Glob(s.spoolFile(testID(id), ".*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range left {
				if name := filepath.Base(path); c.kept == "" || !strings.HasSuffix(name, c.kept) && c.err != store.ErrLive {
					t.Errorf("%s is left", name)
				}
			}
			if c.kept != "" && !exists(t, s.spoolFile(testID(id), c.kept)) {
				t.Errorf("no file %s is left: %v", c.kept, left)
			}
			mustVerify(t, s)
			if c.err != nil {
				return
			}
			if _, err := s.Head(t.Context(), testID(id)); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("head: %v", err)
			}
			folded(t, s) // there is no tombstone
			mustRead(t, s, testID(id), log)
		})
	}
}
