package boltstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
)

func openOutbox(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{Outbox: true, Patience: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOutboxConformance(t *testing.T) {
	storetest.Test(t, func(t *testing.T) store.Store {
		return openOutbox(t, t.TempDir())
	}, storetest.Reopen(func(t *testing.T, s store.Store) store.Store {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return openOutbox(t, s.Info().Location)
	}))
}

// TestOutboxKeepsSpools holds that neither the work beside a recorder nor Close nor FoldDead folds
// the sessions of an outbox, and that all can be read from their spools.
func TestOutboxKeepsSpools(t *testing.T) {
	dir := t.TempDir()
	events := testLog(1, 12, 1<<20, true)
	synctest.Test(t, func(t *testing.T) {
		p := startSpool(t, openOutbox(t, dir), events)
		for range 10 { // long enough for a fold of as many bytes
			<-time.After(foldAfter)
			synctest.Wait()
		}
		if folds := p.(*spool).keeper.folds.Load(); folds != 0 {
			t.Errorf("%d folds beside the recorder", folds)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	})
	s := openOutbox(t, dir)
	mustFoldDead(t, s)
	if !exists(t, s.spoolPath(testID(1))) || exists(t, s.databasePath([16]byte{})) {
		t.Error("the session is not in its spool")
	}
	if paths, _, err := s.databasePaths(); err != nil || len(paths) > 0 {
		t.Errorf("databases %v, %v", paths, err)
	}
	mustRead(t, s, testID(1), events)
	if got := one(t, s, testID(1)); got.State != store.Ended || got.Head.Seq != 12 {
		t.Errorf("listed %+v", got)
	}
	list, err := s.Waiting(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != testID(1) || list[0].Live || list[0].Bytes < 10<<20 {
		t.Errorf("waiting %+v, %v", list, err)
	}
}

// TestRelease removes sessions wherever they are, and no others.
func TestRelease(t *testing.T) {
	const id = 1
	closed := func(t *testing.T, s *Store) {
		p := startSpool(t, s, testLog(id, 20, 300, true))
		if err := errors.Join(s.KeepShippedState(testID(id), []byte("state")), p.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		prepare func(t *testing.T, s *Store)
		err     error
		kept    string // the ending of a file that stays
	}{
		"closed": {prepare: closed},
		"folded by another program": {prepare: func(t *testing.T, s *Store) {
			closed(t, s)
			other := testStore(t, s.dir)
			mustFoldDead(t, other)
			if exists(t, s.spoolPath(testID(id))) {
				t.Fatal("it was not folded")
			}
			if _, err := other.Append(t.Context(), testID(id+1), 0, testLog(id+1, 5, 100, false)); err != nil {
				t.Fatal(err)
			}
		}},
		"not begun": {prepare: func(t *testing.T, s *Store) {
			closed(t, s)
			if err := os.Truncate(s.spoolPath(testID(id)), 10); err != nil {
				t.Fatal(err)
			}
		}},
		"absent": {prepare: func(*testing.T, *Store) {}, err: store.ErrNotFound},
		"live": {prepare: func(t *testing.T, s *Store) {
			p := startSpool(t, s, testLog(id, 20, 300, true))
			t.Cleanup(func() { _ = p.Close() })
		}, err: store.ErrLive, kept: ".log"},
		"damaged": {prepare: func(t *testing.T, s *Store) {
			closed(t, s)
			flipBit(t, s.spoolPath(testID(id)), 8*1500)
		}, err: store.ErrCorrupt, kept: ".damaged"},
		"deleted": {prepare: func(t *testing.T, s *Store) {
			closed(t, s)
			if err := s.Delete(t.Context(), testID(id)); err != nil {
				t.Fatal(err)
			}
		}, err: store.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := openOutbox(t, t.TempDir())
			c.prepare(t, s)
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
			closed(t, s) // there is no tombstone
			mustRead(t, s, testID(id), testLog(id, 20, 300, true))
		})
	}
}

// TestShippedState holds that the last state is read, also after a death within a call.
func TestShippedState(t *testing.T) {
	s := openOutbox(t, t.TempDir())
	p := startSpool(t, s, testLog(1, 3, 10, true))
	if got, err := s.ShippedState(testID(1)); got != nil || err != nil {
		t.Errorf("no state: %q, %v", got, err)
	}
	if err := os.WriteFile(s.spoolFile(testID(1), shippedEnding+".new"), []byte("hal"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one", "two"} {
		if err := s.KeepShippedState(testID(1), []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.ShippedState(testID(1)); string(got) != want || err != nil {
			t.Errorf("state %q, %v; want %q", got, err, want)
		}
	}
	if err := errors.Join(p.Close(), s.Delete(t.Context(), testID(1))); err != nil {
		t.Fatal(err)
	}
	if got, err := s.ShippedState(testID(1)); got != nil || err != nil {
		t.Errorf("after the delete: %q, %v", got, err)
	}
}
