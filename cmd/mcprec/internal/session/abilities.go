package session

import (
	"context"
	"errors"
	"iter"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/outbox"
)

// What a store in a folder can do and a shared store cannot, and what to do instead: the end of a
// sentence that begins with the store.
const (
	toRecord  = "cannot be recorded into from here"
	toRepair  = "cannot be repaired from here; it is the server's to repair"
	toSalvage = "cannot be salvaged from here; it is the server's to repair"
	toCompact = "cannot be compacted from here; it is the server's to compact"
	toMeasure = "cannot be measured from here; its size is the server's to limit"
	toKeep    = "has no budget from which a session can be kept; record with --label keep what store prune is to spare"
)

// cannot returns the error of a command that needs what the store lacks.
func (db *Store) cannot(what string) error {
	return exit.Usagef("%s %s", db.Info().Location, what)
}

// Spool starts a live session.
func (db *Store) Spool(ctx context.Context, opened store.Event) (store.Spool, error) {
	spooler, ok := db.Store.(store.Spooler)
	if !ok {
		return nil, db.cannot(toRecord)
	}
	return spooler.Spool(ctx, opened)
}

// RedactionKey returns the key for placeholders of a store that keeps one.
func (db *Store) RedactionKey() ([]byte, error) {
	keyed, ok := db.Store.(store.Keyed)
	if !ok {
		return readKey(db.place)
	}
	return keyed.RedactionKey()
}

// Repairer returns what repairs the store.
func (db *Store) Repairer() (store.Repairer, error) {
	repairer, ok := db.Store.(store.Repairer)
	if !ok {
		return nil, db.cannot(toRepair)
	}
	return repairer, nil
}

// salvage yields the intact events of a session, see store.Repairer.
func (db *Store) salvage(ctx context.Context, id store.SessionID) iter.Seq2[store.Event, error] {
	repairer, ok := db.Store.(store.Repairer)
	if !ok {
		return func(yield func(store.Event, error) bool) { yield(store.Event{}, db.cannot(toSalvage)) }
	}
	return repairer.Salvage(ctx, id)
}

// Compactor returns what compacts the store.
func (db *Store) Compactor() (store.Compactor, error) {
	compactor, ok := db.Store.(store.Compactor)
	if !ok {
		return nil, db.cannot(toCompact)
	}
	return compactor, nil
}

// Measurer returns what measures the store.
func (db *Store) Measurer() (store.Measurer, error) {
	measurer, ok := db.Store.(store.Measurer)
	if !ok {
		return nil, db.cannot(toMeasure)
	}
	return measurer, nil
}

// Keeper returns the folder in which sessions are marked as kept.
func (db *Store) Keeper() (folder string, err error) {
	if db.Folder == "" {
		return "", db.cannot(toKeep)
	}
	return db.Folder, nil
}

// OpenLines returns the unterminated lines of a live session, none where the store does not show them.
func (db *Store) OpenLines(ctx context.Context, id store.SessionID) ([]store.OpenLine, error) {
	reader, ok := db.Store.(store.LineReader)
	if !ok {
		return nil, nil
	}
	return reader.OpenLines(ctx, id)
}

// summarizer returns what keeps summaries.
func (db *Store) summarizer() store.Summarizer {
	summarizer, ok := db.Store.(store.Summarizer)
	if !ok {
		return noSummaries{}
	}
	return summarizer
}

// noSummaries stands for a store without summaries: each is made again from its session.
type noSummaries struct{}

func (noSummaries) KeepSummaries(context.Context, []store.Summary) error { return nil }
func (noSummaries) Summaries(context.Context, []store.Session) (map[store.SessionID][]byte, error) {
	return nil, nil
}

// Outbox returns the outbox that is recorded into, or nil.
func (db *Store) Outbox() *outbox.Outbox {
	box, _ := db.Store.(*outbox.Outbox)
	return box
}

// Verify checks the store's own structures, where it has such.
func (db *Store) Verify(ctx context.Context, report func(error)) error {
	verifier, ok := db.Store.(store.Verifier)
	if !ok {
		return nil
	}
	return verifier.Verify(ctx, report)
}

// DeleteAll removes sessions, see store.Cleaner. Without that ability of the store it removes one after the
// other.
func (db *Store) DeleteAll(ctx context.Context, ids []store.SessionID, removed func(store.SessionID)) error {
	cleaner, ok := db.Store.(store.Cleaner)
	if ok {
		return cleaner.DeleteAll(ctx, ids, removed)
	}
	for _, id := range ids {
		err := db.Delete(ctx, id)
		switch {
		case err == nil:
			removed(id)
		case !errors.Is(err, store.ErrLive) && !errors.Is(err, store.ErrNotFound):
			return err
		}
	}
	return nil
}

// Exposed returns an error if other users of the machine can change the files of the store.
func (db *Store) Exposed() error { return db.tidier().Exposed() }

// tidier returns what tidies the store.
func (db *Store) tidier() store.Tidier {
	tidier, ok := db.Store.(store.Tidier)
	if !ok {
		return nothingToTidy{}
	}
	return tidier
}

// nothingToTidy stands for a store in which dead recorders leave nothing.
type nothingToTidy struct{}

func (nothingToTidy) FoldDead(context.Context) error { return nil }
func (nothingToTidy) Exposed() error                 { return nil }
func (nothingToTidy) Odd() error                     { return nil }
