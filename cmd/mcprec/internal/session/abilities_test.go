package session

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
)

// openBare returns a shared store that can do nothing but hold sessions, with n sessions of one call.
func openBare(t *testing.T, n int) *Store {
	t.Helper()
	p, err := parsePlace("nats://me:hunter2@host/TEAM")
	if err != nil {
		t.Fatal(err)
	}
	db := &Store{Store: struct{ store.Store }{memstore.New()}, place: p, errs: io.Discard}
	for i := range n {
		if _, err := Save(t.Context(), db, oneCall(i, true)); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// TestBare: what a store cannot do is said in one line with the store's name, and all else works.
func TestBare(t *testing.T) {
	ctx := t.Context()
	db := openBare(t, 3)
	_, repair := db.Repairer()
	_, compact := db.Compactor()
	_, measure := db.Measurer()
	_, keep := db.Keeper()
	_, spool := db.Spool(ctx, oneCall(4, false)[0])
	_, salvage := Collect(db.salvage(ctx, callID(0)))
	got := fmt.Sprintf("%v\n%v\n%v\n%v\n%v\n%v\n", repair, compact, measure, keep, spool, salvage)
	const want = `nats://host/TEAM cannot be repaired from here; it is the server's to repair
nats://host/TEAM cannot be compacted from here; it is the server's to compact
nats://host/TEAM cannot be measured from here; its size is the server's to limit
nats://host/TEAM has no budget from which a session can be kept; record with --label keep what store prune is to spare
nats://host/TEAM cannot be recorded into from here
nats://host/TEAM cannot be salvaged from here; it is the server's to repair
`
	if got != want {
		t.Errorf("said:\n%swant:\n%s", got, want)
	}
	lines, err := db.OpenLines(ctx, callID(0))
	if len(lines) > 0 || err != nil {
		t.Errorf("open lines: %v, %v", lines, err)
	}
	if err := db.Verify(ctx, func(fault error) { t.Errorf("fault: %v", fault) }); err != nil {
		t.Error(err)
	}
	sessions, faults := db.sessions(ctx, store.Query{})
	found, err := db.Summaries(ctx, sessions)
	if err := errors.Join(faults, err); err != nil || len(found) != 3 {
		t.Errorf("%d summaries, %v", len(found), err)
	}
	db.KeepSummary(ctx, callID(0))
	var removed []store.SessionID
	err = db.DeleteAll(ctx, []store.SessionID{callID(2), callID(7), callID(0)}, func(id store.SessionID) { removed = append(removed, id) })
	if err != nil || !slices.Equal(removed, []store.SessionID{callID(2), callID(0)}) {
		t.Errorf("removed %v, %v", removed, err)
	}
	if _, err := db.Head(ctx, callID(2)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a removed session: %v", err)
	}
	if err := errors.Join(db.Exposed(), db.Close()); err != nil {
		t.Error(err)
	}
}
