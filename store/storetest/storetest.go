// Package storetest is the conformance suite of package store: every Store passes Test, every
// Spooler also its spool part. It also has what other tests use: spoolers that keep a log in memory
// and whose disk is slow or fails ([Log], [Disk]), and the table of make night ([Night], [Tell]).
//
// # Data layout
//
// A test case opens its own store. At its end every session is read once more through
// store.Validator, its head and listing are compared with its events, and the Verify of a store
// that has one must find no fault.
//
// # What it refuses to do
//
// The suite never sleeps and asserts no time: a case waits for events only. A [Disk] sleeps as it is told.
package storetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcprec/mcprec/store"
)

// Option adds cases for abilities of some stores.
type Option func(*suite)

// Reopen sets the function that closes a store and opens the same data again.
func Reopen(reopen func(t *testing.T, s store.Store) store.Store) Option {
	return func(suite *suite) { suite.reopen = reopen }
}

type suite struct {
	open   func(t *testing.T) store.Store
	reopen func(t *testing.T, s store.Store) store.Store
}

// Test runs the suite; open returns a new, empty store for each case.
func Test(t *testing.T, open func(t *testing.T) store.Store, options ...Option) {
	u := &suite{open: open}
	for _, o := range options {
		o(u)
	}
	for group, cases := range cases {
		t.Run(group, func(t *testing.T) {
			u.needs(t, group)
			for name, run := range cases {
				t.Run(name, func(t *testing.T) {
					s := u.open(t)
					run(t, s)
					Validate(t, s)
					wantErr(t, "close", nil, s.Close())
					if _, err := s.Head(t.Context(), newID(0)); err == nil {
						t.Error("head after close: no error")
					}
				})
			}
		})
	}
	t.Run("reopen", u.testReopen)
}

// needs skips a group of cases that a store has not the ability for.
func (u *suite) needs(t *testing.T, group string) {
	if group != "spool" {
		return
	}
	s := u.open(t)
	_, spools := s.(store.Spooler)
	wantErr(t, "close", nil, s.Close())
	if !spools {
		t.Skip("the store takes no live sessions")
	}
}

// testCase is a test with a store of its own.
type testCase func(*testing.T, store.Store)

// cases are the test cases by group and name.
var cases = map[string]map[string]testCase{
	"append": appendCases, "read": readCases, "list": listCases, "delete": deleteCases, "spool": spoolCases,
}

// Validate reads every session of a store and reports every broken invariant.
func Validate(t testing.TB, s store.Store) {
	t.Helper()
	for x, err := range s.Sessions(context.Background(), store.Query{}) {
		if err != nil {
			t.Errorf("sessions: %v", err)
			continue
		}
		validateSession(t, s, x)
	}
	if v, ok := s.(interface {
		Verify(ctx context.Context, report func(error)) error
	}); ok {
		if err := v.Verify(context.Background(), func(err error) { t.Errorf("verify: %v", err) }); err != nil {
			t.Errorf("verify: %v", err)
		}
	}
}

// validateSession compares the listing and the head of a session with its events.
func validateSession(t testing.TB, s store.Store, listed store.Session) {
	t.Helper()
	var v store.Validator
	var head store.Head
	var counted store.Session
	for e, err := range s.Read(context.Background(), listed.ID, 0, store.ReadOptions{}) {
		if err != nil {
			t.Errorf("session %s: %v", listed.ID, err)
			return
		}
		if err := v.Check(e); err != nil {
			t.Errorf("session %s: %v", listed.ID, err)
			return
		}
		head, _ = head.Next(e)
		_ = counted.Count(e)
	}
	if got, err := s.Head(context.Background(), listed.ID); err != nil || got != head {
		t.Errorf("session %s: head %v, %v; its events give %v", listed.ID, got, err, head)
	}
	if listed.Head.Seq != head.Seq || listed.Head.At != head.At || listed.Head.Sealed != head.Sealed {
		t.Errorf("session %s: listed with head %v; its events give %v", listed.ID, listed.Head, head)
	}
	if listed.Frames != counted.Frames || listed.Bytes != counted.Bytes || listed.Lost != counted.Lost || listed.Exit != counted.Exit {
		t.Errorf("session %s: listed as %+v; its events give %+v", listed.ID, listed, counted)
	}
}

// Night reports whether to run the long forms of tests: make night.
func Night() bool { return os.Getenv("MCPREC_NIGHT") != "" }

// Tell adds a line to the table of make night: a fault, the number of tries, and the result.
// MCPREC_NIGHT is the full path of the table's file, or 1 for none. A failed test adds no line.
func Tell(t testing.TB, fault string, tried int, what string) {
	t.Helper()
	if tried == 0 {
		t.Fatalf("%s: nothing was tried", fault)
	}
	table := os.Getenv("MCPREC_NIGHT")
	if table == "" || table == "1" || t.Failed() {
		return
	}
	if !filepath.IsAbs(table) {
		t.Fatalf("MCPREC_NIGHT is %q, neither 1 nor a whole path: each package would write into its own folder", table)
	}
	f, err := os.OpenFile(table, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(f, "%s|%d|%d|%s\n", fault, tried, tried, what)
	if err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
