// Package storetest is the conformance suite of package store: every Store
// passes Test, and every Spooler the spool part of it too.
//
// # Data layout
//
// A test case opens its own store. When the case ends, every session in the
// store is read once more through store.Validator, its head and its listing are
// compared with what was read, and a store.Verifier must find no fault.
//
// # What it refuses to do
//
// It sleeps nowhere and asserts no time: a case that waits, waits for an event.
package storetest

import (
	"context"
	"testing"

	"github.com/mcprec/mcprec/store"
)

// Option adds cases for what only some stores can do.
type Option func(*suite)

// Reopen gives the way to close a store and open the same data again.
func Reopen(reopen func(t *testing.T, s store.Store) store.Store) Option {
	return func(u *suite) { u.reopen = reopen }
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
	t.Run("append", u.testAppend)
	t.Run("read", u.testRead)
	t.Run("list", u.testList)
	t.Run("delete", u.testDelete)
	t.Run("spool", u.testSpool)
	t.Run("reopen", u.testReopen)
}

// cases runs each case on a store of its own.
func (u *suite) cases(t *testing.T, cases map[string]func(t *testing.T, s store.Store)) {
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			s := u.open(t)
			run(t, s)
			Validate(t, s)
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			if _, err := s.Head(t.Context(), newID(0)); err == nil {
				t.Error("head after close: no error")
			}
		})
	}
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
	if v, ok := s.(store.Verifier); ok {
		if err := v.Verify(context.Background(), func(err error) { t.Errorf("verify: %v", err) }); err != nil {
			t.Errorf("verify: %v", err)
		}
	}
}

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
