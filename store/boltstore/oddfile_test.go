//go:build unix

package boltstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcprec/mcprec/store"
)

// pipeAt makes a named pipe, and fails the test if anybody opens it. Whoever does so is
// let go on.
func pipeAt(t *testing.T, path string) (stop func()) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "pipe") // by which it can be opened whatever becomes of the name
	if err := os.Link(path, other); err != nil {
		t.Fatal(err)
	}
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			f, err := os.OpenFile(other, os.O_WRONLY, 0) // until there is a reader
			if err == nil {
				f.Close()
			}
			select {
			case <-stopped:
				return
			default:
				t.Errorf("%s was opened (%v)", path, err)
			}
		}
	}()
	return func() {
		close(stopped)
		f, err := os.OpenFile(other, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		<-done
	}
}

// TestOddFiles puts a pipe, and a symbolic link to what never ends, under each name that
// belongs to a session whose recorder died. Nothing waits for it, what else there is of the
// session stays, and after Repair the store is as if it had never been there.
func TestOddFiles(t *testing.T) {
	id, events := testID(1), testLog(1, 20, 100, true)
	for _, c := range []struct {
		name  string
		path  func(*Store) string
		gone  bool // what the session had is in what was replaced
		stays bool // it cannot be folded until the store is repaired
	}{
		{"spool", func(s *Store) string { return s.spoolPath(id) }, true, false},
		{"lock", func(s *Store) string { return s.lockPath(id) }, false, false},
		{"damaged", func(s *Store) string { return strings.TrimSuffix(s.spoolPath(id), ".log") + ".damaged" }, false, false},
		{"database", func(s *Store) string { return s.storeDir() + "/202611.db" }, false, true},
	} {
		for _, kind := range []string{"pipe", "link"} {
			t.Run(c.name+" "+kind, func(t *testing.T) {
				live := testStore(t, t.TempDir())
				p := startSpool(t, live, events)
				s := died(t, live)
				if err := p.Close(); err != nil {
					t.Fatal(err)
				}
				path := c.path(s)
				_ = os.Remove(path)
				if kind == "pipe" {
					defer pipeAt(t, path)()
				} else if err := os.Symlink("/dev/zero", path); err != nil {
					t.Fatal(err)
				}
				whole := func() {
					t.Helper()
					if !c.gone {
						mustRead(t, s, id, events)
					} else if _, err := readAll(s, id); !errors.Is(err, store.ErrNotFound) {
						t.Errorf("read: %v", err)
					}
				}
				whole()
				if ids, faults := listed(t, s); len(faults) > 0 || len(ids) == 0 != c.gone {
					t.Errorf("listed %v, %q", ids, faults)
				}
				if _, err := s.Usage(t.Context()); err != nil {
					t.Errorf("usage: %v", err)
				}
				if err := s.Compact(t.Context(), 0, func(store.Compacted) {}); err != nil {
					t.Errorf("compact: %v", err)
				}
				var faults []string
				if err := s.Verify(t.Context(), func(err error) { faults = append(faults, err.Error()) }); err != nil {
					t.Error(err)
				}
				saidOnce(t, "verify", faults, path+" is ")
				if n, err := salvagedEvents(t, s, id); (n == len(events)) == c.gone {
					t.Errorf("salvaged %d events, %v", n, err)
				}
				saidOnce(t, "fold", []string{errorText(s.FoldDead(t.Context()))}, path+" is ")
				if exists(t, s.spoolPath(id)) != c.stays && !c.gone {
					t.Errorf("after the fold the spool is there: %t", !c.stays)
				}
				whole()
				if _, err := os.Lstat(path); err != nil {
					t.Errorf("it was removed: %v", err)
				}
				if _, err := s.Append(t.Context(), testID(2), 0, testLog(2, 5, 100, true)); (err != nil) != c.stays {
					t.Errorf("append: %v", err)
				}
				repaired := 0
				if err := s.Repair(t.Context(), false, func(r store.Repaired) { repaired++ }); err != nil || repaired != 1 {
					t.Errorf("repair: %d, %v", repaired, err)
				}
				if _, err := os.Lstat(path + ".aside"); err != nil {
					t.Errorf("not set aside: %v", err)
				}
				mustVerify(t, s)
				mustFoldDead(t, s)
				whole()
				if err := s.Delete(t.Context(), id); err != nil && !c.gone {
					t.Errorf("delete: %v", err)
				}
			})
		}
	}
}

// TestOddLock: a lock that many commands need is set aside at once if it is not a file, and
// those who ask for the lock still exclude each other.
func TestOddLock(t *testing.T) {
	s := testStore(t, t.TempDir())
	if _, err := s.makeFolders(); err != nil {
		t.Fatal(err)
	}
	s.patience = 0
	s.replaceNeedsClosed = true // or there is no exchange.lock
	for path, lock := range map[string]func() (func(), error){
		s.spoolDir() + "/fold.lock":     func() (func(), error) { return s.lockFold(t.Context(), false) },
		s.storeDir() + "/exchange.lock": func() (func(), error) { return s.holdNames(t.Context(), true) },
	} {
		for n := 1; n <= 2; n++ {
			_ = os.Remove(path)
			if err := os.Symlink("/dev/zero", path); err != nil {
				t.Fatal(err)
			}
			unlock, err := lock()
			if err != nil || unlock == nil {
				t.Fatalf("lock %s: %v", path, err)
			}
			if second, err := lock(); second != nil || err != nil && !errors.Is(err, store.ErrBusy) {
				t.Errorf("%s: locked twice, %v", path, err)
			}
			unlock()
		}
		for _, kept := range []string{path + ".aside", path + ".aside-2"} {
			if info, err := os.Lstat(kept); err != nil || info.Mode().Type() != os.ModeSymlink {
				t.Errorf("%s: %v, %v", kept, info, err)
			}
		}
	}
}

// TestOddNames puts a folder under the name of each file that belongs to no session. Odd names it,
// and Repair sets it aside.
func TestOddNames(t *testing.T) {
	s := testStore(t, t.TempDir())
	if _, err := s.makeFolders(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		s.dir + "/redact.key", s.spoolDir() + "/fold.lock", s.storeDir() + "/other.db", s.storeDir() + "/alone.lock",
		s.storeDir() + "/compact.lock", s.storeDir() + "/create.lock", s.storeDir() + "/exchange.lock",
	} {
		_ = os.Remove(path) // a lock that Repair has held
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if text := errorText(s.Odd()); !strings.HasPrefix(text, path+" is a folder") {
			t.Errorf("%s: %q", path, text)
		}
		if err := s.Repair(t.Context(), false, func(store.Repaired) {}); err != nil {
			t.Errorf("repair: %v", err)
		}
		if err := s.Odd(); err != nil {
			t.Errorf("repaired: %v", err)
		}
		if _, err := os.Lstat(path + ".aside"); err != nil {
			t.Errorf("not set aside: %v", err)
		}
	}
}

// TestExposed says which folders every user can write to.
func TestExposed(t *testing.T) {
	for mode, want := range map[os.FileMode]bool{0o700: false, 0o755: false, 0o775: false, 0o777: true, 0o777 | os.ModeSticky: false, 0o702: true} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if err := testStore(t, dir).Exposed(); (err != nil) != want {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
	if err := testStore(t, t.TempDir()+"/none").Exposed(); err != nil {
		t.Error(err)
	}
}
