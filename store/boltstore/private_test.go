//go:build unix

package boltstore

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcprec/mcprec/store"
)

// use records, imports, deletes, reads and compacts.
func use(t *testing.T, s *Store) {
	t.Helper()
	live := startSpool(t, s, testLog(1, 5, 100, false))
	for n := 2; n < 12; n++ {
		if _, err := s.Append(t.Context(), testID(n), 0, testLog(n, 20, 3000, true)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.RedactionKey(); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteAll(t.Context(), []store.SessionID{testID(2), testID(3), testID(4), testID(5)}, func(store.SessionID) {}); err != nil {
		t.Fatal(err)
	}
	mustCompact(t, s)
	if err := live.Write(asParts(testLog(1, 7, 100, true)[5:])); err != nil {
		t.Fatal(err)
	}
	onlyOurs(t, s)
	if err := live.Close(); err != nil {
		t.Fatal(err)
	}
	onlyOurs(t, s)
}

// onlyOurs holds that nobody else can read what is in the store.
func onlyOurs(t *testing.T, s *Store) {
	t.Helper()
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == s.dir && filepath.Base(path) != "new" { // the test's own
			return err
		}
		info, err := d.Info()
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if err == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestModes(t *testing.T) {
	for _, mask := range []int{0, 0o277, 0o777} {
		dir := filepath.Join(t.TempDir(), "state", "new")
		old := syscall.Umask(mask)
		use(t, testStore(t, dir))
		syscall.Umask(old)
	}
	s := testStore(t, t.TempDir()) // made by others, or copied
	use(t, s)
	_ = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o644)
	})
	if err := startSpool(t, s, testLog(30, 5, 100, true)).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RedactionKey(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), testID(31), 0, testLog(31, 5, 10, true)); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), testID(31)); err != nil {
		t.Fatal(err)
	}
	_ = s.Compact(t.Context(), 0, func(store.Compacted) {})
	onlyOurs(t, s)
}

// A link in the place of any file or folder of the store is not followed: nothing is
// written where it leads.
func TestLinks(t *testing.T) {
	made := testStore(t, t.TempDir())
	use(t, made)
	month := filepath.Base(made.databasePath(got(testID(1).Bytes())))
	for _, name := range []string{"spool", "store", "store/" + month, "spool/fold.lock", "store/compact.lock", "spool/" + string(testID(1)) + ".lock", "spool/" + string(testID(1)) + ".log", "redact.key"} {
		s, target := testStore(t, t.TempDir()), filepath.Join(t.TempDir(), "target")
		switch {
		case !strings.Contains(name, "/") && name != "redact.key":
			if err := os.Mkdir(target, 0o700); err != nil {
				t.Fatal(err)
			}
		default:
			if _, err := s.makeFolders(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(target, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(target, filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
		var errs []error
		if p, err := s.Spool(t.Context(), opening(1)); err != nil {
			errs = append(errs, err)
		} else {
			errs = append(errs, p.Close())
		}
		_, err := s.RedactionKey()
		errs = append(errs, err, second(s.Append(t.Context(), testID(2), 0, testLog(2, 5, 10, true))), s.Compact(t.Context(), 0, func(store.Compacted) {}),
			s.DeleteAll(t.Context(), []store.SessionID{testID(2)}, func(store.SessionID) {}))
		_, err = os.Lstat(filepath.Join(s.dir, name) + ".aside") // as a lock that many need
		refused := err == nil
		for _, err := range errs {
			refused = refused || err != nil
		}
		if !refused {
			t.Errorf("%s: a link was followed", name)
		}
		if b, err := os.ReadFile(target); err == nil && string(b) != "mine" {
			t.Errorf("%s: its target was written to", name)
		}
		if left, _ := os.ReadDir(target); len(left) > 0 {
			t.Errorf("%s: something was put where it leads", name)
		}
	}
}
