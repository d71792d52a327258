package boltstore

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

// TestFaultsArePassedOn has each call of the disk fail once under each operation: it says
// so, or what it gives is as whole as without the fault.
func TestFaultsArePassedOn(t *testing.T) {
	live := testStore(t, t.TempDir())
	if _, err := live.Append(t.Context(), testID(2), 0, testLog(2, 20, 100, true)); err != nil {
		t.Fatal(err)
	}
	p := startSpool(t, live, testLog(1, 20, 100, true))
	defer p.Close()
	for _, op := range []struct {
		name string
		run  func(s *Store) (result string, err error)
	}{
		{"read", func(s *Store) (string, error) { return eventsOf(readAll(s, testID(1))) }},
		{"read folded", func(s *Store) (string, error) { return eventsOf(readAll(s, testID(2))) }},
		{"salvage", func(s *Store) (string, error) {
			n, err := salvagedEvents(t, s, testID(1))
			return fmt.Sprint(n), err
		}},
		{"head", func(s *Store) (string, error) {
			h, err := s.Head(t.Context(), testID(1))
			return fmt.Sprint(h), err
		}},
		{"list", func(s *Store) (string, error) {
			ids, faults := []string{}, []error(nil)
			for x, err := range s.Sessions(t.Context(), store.Query{}) {
				if faults = append(faults, err); err == nil {
					ids = append(ids, fmt.Sprint(x.ID, x.Head.Seq))
				}
			}
			slices.Sort(ids)
			return fmt.Sprint(ids), errors.Join(faults...)
		}},
		{"append", func(s *Store) (string, error) {
			h, err := s.Append(t.Context(), testID(3), 0, testLog(3, 5, 100, true))
			return fmt.Sprint(h.Seq), err
		}},
		{"delete", func(s *Store) (string, error) { return "", s.Delete(t.Context(), testID(1)) }},
		{"delete folded", func(s *Store) (string, error) { return "", s.Delete(t.Context(), testID(2)) }},
		{"delete all", func(s *Store) (string, error) {
			removed := []store.SessionID{}
			err := s.DeleteAll(t.Context(), []store.SessionID{testID(1), testID(2)}, func(id store.SessionID) { removed = append(removed, id) })
			return fmt.Sprint(removed), err
		}},
		{"fold", func(s *Store) (string, error) { return "", s.foldDead(t.Context(), testID(1), time.Time{}) }},
		{"repair of a session", func(s *Store) (string, error) {
			if err := os.Rename(s.spoolPath(testID(1)), s.spoolFile(testID(1), ".damaged")); err != nil {
				t.Fatal(err)
			}
			return repairs(t, s)
		}},
		{"repair of a database", func(s *Store) (string, error) {
			key, _ := testID(2).Bytes()
			flipBit(t, s.databasePath(key), 8*int64(pageHead)) // a damaged meta page
			return repairs(t, s)
		}},
		{"compact", func(s *Store) (string, error) { return "", s.Compact(t.Context(), 0, func(store.Compacted) {}) }},
		{"usage", func(s *Store) (string, error) {
			u, err := s.Usage(t.Context())
			return fmt.Sprint(len(u.Stored)), err
		}},
		{"space", func(s *Store) (string, error) {
			_, err := s.Space(t.Context())
			return "", err
		}},
		{"verify", func(s *Store) (string, error) {
			var faults []error
			err := s.Verify(t.Context(), func(err error) { faults = append(faults, err) })
			return "", errors.Join(errors.Join(faults...), err)
		}},
	} {
		t.Run(op.name, func(t *testing.T) {
			want, err := op.run(died(t, live))
			if err != nil {
				t.Fatal(err)
			}
			for n := 1; ; n++ {
				d := &faulty{at: n, err: syscall.EIO}
				s := died(t, live)
				s.disk = broken(d)
				got, err := op.run(s)
				met := d.mend()
				if len(met) == 0 {
					break
				}
				if err == nil && (got != want || op.name == "verify") { // what cannot be looked at is not verified
					t.Errorf("call %d, %s, failed: got %s without an error, want %s", n, met[0], got, want)
				}
				if err != nil && !errors.Is(err, syscall.EIO) {
					t.Errorf("call %d, %s, failed: %v", n, met[0], err)
				}
				s.disk = theDisk()
				if strings.HasPrefix(op.name, "repair") {
					if _, err := repairs(t, s); err != nil {
						t.Errorf("call %d, %s, failed; again: %v", n, met[0], err)
					}
				}
				if deleted := strings.HasPrefix(op.name, "delete"); !deleted {
					mustRead(t, s, testID(2), testLog(2, 20, 100, true))
					mustRead(t, s, testID(1), testLog(1, 20, 100, true))
				} else if _, err2 := readAll(s, testID(1)); err == nil && op.name == "delete" && !errors.Is(err2, store.ErrNotFound) {
					t.Errorf("call %d, %s, failed: deleted without an error, and there: %v", n, met[0], err2)
				}
			}
		})
	}
}

// repairs repairs a store and tells of how many events and files.
func repairs(t *testing.T, s *Store) (result string, err error) {
	t.Helper()
	err = s.Repair(t.Context(), false, func(r store.Repaired) { result += fmt.Sprint(r.Sessions, r.Kept != "") })
	return result, err
}

func eventsOf(events []store.Event, err error) (string, error) { return fmt.Sprint(len(events)), err }

func salvagedEvents(t *testing.T, s *Store, id store.SessionID) (n int, err error) {
	t.Helper()
	for _, err := range s.Salvage(t.Context(), id) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// TestHoldDead: a hold on a dead session keeps out others who fold, and its recorder, until
// it is released; a hold that is refused keeps nobody out.
func TestHoldDead(t *testing.T) {
	s := testStore(t, t.TempDir())
	if _, err := s.makeFolders(); err != nil {
		t.Fatal(err)
	}
	lock, err := s.lockLive(testID(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.holdDead(t.Context(), testID(1), false); !errors.Is(err, store.ErrLive) {
		t.Errorf("while its recorder lives: %v", err)
	}
	_ = lock.Close()
	free := func(what string, want bool) {
		t.Helper()
		fold, err := s.lockFold(t.Context(), false)
		if err != nil || (fold != nil) != want {
			t.Errorf("%s: folding is free: %t, %v", what, fold != nil, err)
		}
		if fold != nil {
			fold()
		}
		lock, err := s.lockLive(testID(1))
		if (err == nil) != want {
			t.Errorf("%s: the session is free: %v", what, err)
		}
		if lock != nil {
			_ = lock.Close()
		}
	}
	release, err := s.holdDead(t.Context(), testID(1), false)
	if err != nil {
		t.Fatal(err)
	}
	free("held", false)
	release()
	free("released", true)
	fold, err := s.lockFold(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.holdDead(t.Context(), testID(1), false); !errors.Is(err, store.ErrBusy) {
		t.Errorf("while another folds: %v", err)
	}
	fold()
	free("after a refusal", true)
}
