package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/process"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
)

// Home is where a command's store is, and how its secrets are masked.
type Home struct {
	Dir     string // "" is $MCPREC_HOME, or else the state folder
	Secrets Secrets
}

// path returns the store's folder and does not create it.
func (h *Home) path() (string, error) {
	if h.Dir != "" {
		return h.Dir, nil
	}
	if dir := os.Getenv("MCPREC_HOME"); dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcprec"), nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the store: %v; set MCPREC_HOME", err)
	}
	return filepath.Join(user, ".local", "state", "mcprec"), nil
}

// Open opens the store.
func (h *Home) Open(options boltstore.Options) (*boltstore.Store, error) {
	dir, err := h.path()
	if err != nil {
		return nil, err
	}
	options.Mask = maskFold
	return boltstore.Open(dir, options)
}

// Store is a store that Close tidies.
type Store struct {
	*boltstore.Store
	Masker Masker    // masks output
	errs   io.Writer // for faults on closing
}

// OpenStore opens the store. Faults on closing are written to errs.
func OpenStore(home Home, errs io.Writer) (*Store, error) {
	db, err := home.Open(boltstore.Options{})
	if err != nil {
		return nil, err
	}
	d, err := home.Masker(db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Store{db, d, errs}, nil
}

// Close moves the spools of dead recorders into the databases, as far as that is quick, and
// closes the store. If the moving fails, the command does not: the spools are still there and
// still read.
func (db *Store) Close() error {
	defer process.LimitMemory()()
	if err := db.Exposed(); err != nil {
		fmt.Fprintf(db.errs, "mcprec: %v\n", err)
	}
	if err := db.FoldDead(context.Background()); err != nil {
		fmt.Fprintf(db.errs, "mcprec: tidying the store: %v\n", err)
	}
	return db.Store.Close()
}

// Find returns the only session with the prefix, or the newest for "".
func (db *Store) Find(ctx context.Context, prefix string) (none store.Session, _ error) {
	limit := 11
	if prefix == "" {
		limit = 1
	}
	var found []store.Session
	var faults error
	for s, err := range db.Sessions(ctx, store.Query{Prefix: strings.ToLower(prefix), Newest: true, Limit: limit}) {
		if err != nil {
			faults = errors.Join(faults, err)
			continue
		}
		found = append(found, s)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		var list strings.Builder
		for _, s := range found[:min(len(found), 10)] {
			line := fmt.Sprintf("\n  %s  %s  %s", s.ID, s.Start.Local().Format(time.DateTime), terminal.Plain(db.Masker.Header(s.Header).Label))
			list.WriteString(strings.TrimRight(line, " "))
		}
		if len(found) > 10 {
			list.WriteString("\n  …")
		}
		return none, exit.Usagef("session %s is ambiguous; it begins%s", prefix, &list)
	case faults != nil:
		return none, faults
	case prefix == "":
		return none, exit.Usagef("no session in %s yet; make one with mcprec record -- COMMAND", db.Info().Location)
	}
	return none, exit.Usagef("no session begins with %s in %s; mcprec list shows them", prefix, db.Info().Location)
}

// importBatch is how many bytes of payload one Append takes.
const importBatch = 4 << 20

// Save stores the events of a session, at most importBatch bytes at once.
func Save(ctx context.Context, db store.Store, events []store.Event) (store.SessionID, error) {
	header, err := store.ParseHeader(events[0].Payload)
	if err != nil {
		return "", err
	}
	id, err := store.ParseSessionID(string(header.ID))
	if err != nil {
		return "", err
	}
	for len(events) > 0 {
		n, size := 0, 0
		for n < len(events) && size < importBatch {
			size += len(events[n].Payload) + 32
			n++
		}
		if _, err := db.Append(ctx, id, events[0].Seq-1, events[:n]); err != nil {
			return "", err
		}
		events = events[n:]
	}
	return id, nil
}
