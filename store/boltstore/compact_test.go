package boltstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/mcprec/mcprec/store"
)

// filled returns a store with n sessions, and their logs.
func filled(t testing.TB, n, events, size int) (*Store, map[store.SessionID][]store.Event) {
	t.Helper()
	s := testStore(t, t.TempDir())
	logs := map[store.SessionID][]store.Event{}
	for i := range n {
		id := testID(i + 1)
		logs[id] = testLog(i+1, events, size, true)
		if _, err := s.Append(t.Context(), id, 0, logs[id]); err != nil {
			t.Fatal(err)
		}
	}
	return s, logs
}

func mustCompact(t testing.TB, s *Store) (before, after int64) {
	t.Helper()
	err := s.Compact(t.Context(), 0, func(c store.Compacted) {
		before, after = before+c.Before, after+c.After
		info, err := os.Stat(c.Path)
		if err != nil || info.Size() != c.After {
			t.Errorf("%s: %v, %v; reported %d", c.Path, info, err, c.After)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(s.storeDir(), "*.new-*"))
	if len(left) > 0 {
		t.Errorf("left: %s", left)
	}
	return before, after
}

func TestDeleteAllAndCompact(t *testing.T) {
	s, logs := filled(t, 40, 30, 4000)
	live := startSpool(t, s, testLog(50, 3, 10, false))
	defer func() { _ = live.Close() }()
	ids := []store.SessionID{testID(50), testID(99)} // is live; never was
	for i := range 38 {
		ids = append(ids, testID(i+1))
	}
	var gone []store.SessionID
	for range 2 { // again: they are gone
		if err := s.DeleteAll(t.Context(), ids, func(id store.SessionID) { gone = append(gone, id) }); err != nil {
			t.Fatal(err)
		}
	}
	if len(gone) != 38 {
		t.Errorf("%d sessions were removed", len(gone))
	}
	u, err := s.Usage(t.Context())
	if err != nil || len(u.Databases) != 1 || u.Databases[0].Sessions != 2 || u.Databases[0].Deleted != 38 || u.Spools.Files != 1 {
		t.Fatalf("usage: %+v, %v", u, err)
	}
	before, after := mustCompact(t, s)
	if after > before/4 {
		t.Errorf("%d of 40 sessions removed: compacted from %d to %d bytes", len(gone), before, after)
	}
	for i := range 40 {
		id := testID(i + 1)
		if i >= 38 {
			mustRead(t, s, id, logs[id])
		} else if _, err := s.Append(t.Context(), id, 0, logs[id]); !errors.Is(err, store.ErrExists) {
			t.Errorf("a deleted session is back: %v", err)
		}
	}
	mustVerify(t, s)
	if _, again := mustCompact(t, s); again > after {
		t.Errorf("compacted again: %d bytes, before %d", again, after)
	}
	if err := s.DeleteAll(t.Context(), []store.SessionID{"x"}, nil); err == nil || !strings.Contains(err.Error(), "not a UUID") {
		t.Errorf("a bad id: %v", err)
	}
}

// TestCompactBeside holds that what is read while a database is copied is whole, that what
// would write to it waits, and that nothing of that is lost.
func TestCompactBeside(t *testing.T) {
	s, logs := filled(t, 30, 20, 30000)
	for i := range 20 {
		if err := s.Delete(t.Context(), testID(i+1)); err != nil {
			t.Fatal(err)
		}
		delete(logs, testID(i+1))
	}
	other := testStore(t, s.dir)
	written := make(chan error, 1)
	s.disk.committer = during{osDisk{}, func(n int) {
		if n != 1 { // the first ends the copying
			return
		}
		mustRead(t, other, testID(25), logs[testID(25)])
		p := startSpool(t, other, testLog(60, 20, 3000, true))
		mustRead(t, other, testID(60), testLog(60, 20, 3000, true))
		go func() {
			written <- errors.Join(p.Close(), other.Delete(t.Context(), testID(25)))
		}()
	}, new(int)}
	if err := s.Compact(t.Context(), 0, func(c store.Compacted) {
		if c.After >= c.Before {
			t.Errorf("from %d to %d bytes", c.Before, c.After)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	delete(logs, testID(25))
	logs[testID(60)] = testLog(60, 20, 3000, true)
	mustFoldDead(t, other)
	for id, log := range logs {
		mustRead(t, s, id, log)
	}
	if _, err := s.Head(t.Context(), testID(25)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted meanwhile: %v", err)
	}
	mustVerify(t, s)
}

// during does something before the nth commit.
type during struct {
	osDisk
	f func(n int)
	n *int
}

func (d during) commit(db *bolt.DB, file *os.File, f func(*bolt.Tx) error) error {
	*d.n++
	d.f(*d.n)
	return d.osDisk.commit(db, file, f)
}

func second[T any](_ T, err error) error { return err }

func got[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// A damaged database is not compacted, and stays as it is.
func TestCompactDamaged(t *testing.T) {
	s, _ := filled(t, 6, 20, 40000)
	for i := range 4 {
		if err := s.Delete(t.Context(), testID(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	path := s.databasePath(got(testID(1).Bytes()))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	scan := got(scanDatabase(got(os.Open(path))))
	for _, at := range scan.sessions[got(testID(6).Bytes())].chunks {
		b[at.offset+at.length/2] ^= 1
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	err = s.Compact(context.Background(), 0, func(c store.Compacted) { t.Errorf("compacted: %+v", c) })
	if !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("damaged: %v", err)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != string(b) {
		t.Errorf("changed: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.storeDir(), "*.new-*")); len(left) > 0 {
		t.Errorf("left: %s", left)
	}
}

// A database that is empty is said to be damaged, and stays so.
func TestCompactEmptyFile(t *testing.T) {
	s, _ := filled(t, 1, 2, 10)
	path := s.databasePath(got(testID(1).Bytes()))
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(t.Context(), 0, func(c store.Compacted) { t.Errorf("compacted: %+v", c) }); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("compact: %v", err)
	}
}

// TestSpace: Space agrees with Usage, before and after sessions are removed, and counts spools.
func TestSpace(t *testing.T) {
	s, _ := filled(t, 20, 30, 4000)
	live := startSpool(t, s, testLog(50, 3, 10, false))
	defer func() { _ = live.Close() }()
	for _, last := range []int{0, 10} {
		for n := range last {
			if err := s.Delete(t.Context(), testID(n+1)); err != nil {
				t.Fatal(err)
			}
		}
		usage, err := s.Usage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := store.Space{Files: usage.Size(), Spools: usage.Spools.Bytes}
		for _, d := range usage.Databases {
			want.Free += d.Free
		}
		got, err := s.Space(t.Context())
		if err != nil || got != want || want.Spools == 0 || last > 0 && want.Free < 100_000 {
			t.Errorf("without %d sessions: %+v, %v; want %+v", last, got, err, want)
		}
	}
}

// TestAlone: of two calls one runs, and the other does not wait for it; then it may run.
func TestAlone(t *testing.T) {
	s := testStore(t, t.TempDir())
	other := testStore(t, s.dir)
	nothing := func(context.Context) error { return nil }
	ran, err := s.Alone(t.Context(), func(ctx context.Context) error {
		for _, beside := range []*Store{s, other} {
			ran, err := beside.Alone(ctx, nothing)
			if ran || err != nil {
				t.Errorf("beside: %v, %v", ran, err)
			}
		}
		return errors.ErrUnsupported
	})
	if !ran || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v, %v", ran, err)
	}
	if ran, err := other.Alone(t.Context(), nothing); !ran || err != nil {
		t.Errorf("afterwards: %v, %v", ran, err)
	}
}
