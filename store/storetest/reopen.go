package storetest

import (
	"errors"
	"testing"

	"github.com/mcprec/mcprec/store"
)

// testReopen holds that everything is as it was after the store was closed and
// opened again.
func (u *suite) testReopen(t *testing.T) {
	if u.reopen == nil {
		t.Skip("the store keeps nothing")
	}
	s := u.open(t)
	events := log(1, 20, true)
	mustAppend(t, s, 0, events[:10])
	mustAppend(t, s, 0, log(2, 5, false))
	mustAppend(t, s, 0, log(3, 5, false))
	if err := s.Delete(t.Context(), newID(3)); err != nil {
		t.Fatal(err)
	}
	spooled := log(4, 9, true)
	if _, ok := s.(store.Spooler); ok {
		sp := openSpool(t, s, 4)
		mustWrite(t, sp, parts(log(4, 9, true)[1:])...)
		mustClose(t, sp)
	} else {
		mustAppend(t, s, 0, spooled)
	}
	before := list(t, s, store.Query{})
	s = u.reopen(t, s)
	after := list(t, s, store.Query{})
	if got, want := string(store.EncodePayload(after)), string(store.EncodePayload(before)); got != want {
		t.Errorf("listed\n got %s\nwant %s", got, want)
	}
	mustAppend(t, s, 10, events)
	wantEvents(t, s, newID(1), 0, events)
	wantEvents(t, s, newID(2), 0, log(2, 5, false))
	wantEvents(t, s, newID(4), 0, spooled)
	if _, err := s.Append(t.Context(), newID(3), 0, log(3, 5, false)); !errors.Is(err, store.ErrExists) {
		t.Errorf("append to a deleted session: %v", err)
	}
	Validate(t, s)
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
